# find_package(CudaEmulator): programs with CUDA sources that run without a GPU.
#
#   emulate_cuda(target)
#
# links a target (a program or a library) to the emulator in place of the CUDA runtime and of the driver. Its device code is
# compiled to PTX for compute_90a, with the lines of the source; what else the target says stays as it is. Call it when the
# target's other properties are set. A program that is made for a GPU as well is a second target of the same sources.

include(CMakeFindDependencyMacro)
find_dependency(Threads)

get_filename_component(_emulator_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT EXISTS "${_emulator_prefix}/lib/libcuda_emulator.a")
  set(CudaEmulator_FOUND FALSE)
  set(CudaEmulator_NOT_FOUND_MESSAGE "${_emulator_prefix}/lib/libcuda_emulator.a does not exist: install the emulator again")
  return()
endif()
if(NOT TARGET CudaEmulator::emulator)
  add_library(CudaEmulator::emulator STATIC IMPORTED)
  set_target_properties(CudaEmulator::emulator PROPERTIES
    IMPORTED_LOCATION "${_emulator_prefix}/lib/libcuda_emulator.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_INCLUDE_DIRECTORIES "${_emulator_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
endif()
unset(_emulator_prefix)

function(emulate_cuda target)
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "emulate_cuda(${target}): there is no such target; call it behind add_executable or add_library")
  endif()
  # The device linker wants machine code beside the PTX, which is all that the emulator reads.
  get_target_property(separable "${target}" CUDA_SEPARABLE_COMPILATION)
  set_target_properties("${target}" PROPERTIES CUDA_ARCHITECTURES 90a-virtual CUDA_RUNTIME_LIBRARY None)
  if(separable)
    set_property(TARGET "${target}" PROPERTY CUDA_ARCHITECTURES 90a)
  endif()
  target_compile_options("${target}" PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<CONFIG:Debug>>>:-lineinfo>)
  # NVIDIA's libraries of the same functions would be found first.
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(libraries "${target}" ${property})
    if(libraries)
      list(REMOVE_ITEM libraries CUDA::cudart CUDA::cudart_static CUDA::cuda_driver cudart cudart_static cuda)
    else()
      set(libraries)
    endif()
    set_property(TARGET "${target}" PROPERTY ${property} ${libraries} CudaEmulator::emulator)
  endforeach()
endfunction()
