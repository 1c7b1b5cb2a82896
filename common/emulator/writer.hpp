// What a program may ask the emulator about the last launch. Defined by the emulator; absent, so null, in a program for a GPU.
#pragma once

// Who wrote that byte of device memory: "CTA (0,0,0) warp 4, at kernel.cu:80", in words that last until the next call. Null
// where nobody has, and in a run that is not checked.
extern "C" __attribute__((weak)) const char* emu_writer_of(const void* device_memory);
