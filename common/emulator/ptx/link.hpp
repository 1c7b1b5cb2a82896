// Puts the modules of several objects together, as nvcc's device linker does (-rdc=true).
#pragma once

#include <vector>

#include "emulator/ptx/syntax.hpp"

namespace emu {

// One module of all: a declaration finds its definition in any of them, of several weak definitions the first counts, and
// what is not visible outside of its object keeps to itself. Lines are counted through all the texts. Throws Fault
// ("module-variable") where a name is defined twice.
Module link_modules(std::vector<Module> modules);

}  // namespace emu
