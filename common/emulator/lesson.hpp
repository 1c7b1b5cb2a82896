// A program of a course says so at its beginning: what is advice elsewhere, because hardware forgives it, is an error in it
// (the grades of emulator/findings/finding_ids.cpp). EMU_STRICT=1 asks for the same, and more, of any program.
#pragma once

// Defined by the emulator; absent, so null, in a program for a GPU.
extern "C" __attribute__((weak)) void emu_declare_lesson();

inline void emu_lesson() {
  if (emu_declare_lesson) emu_declare_lesson();
}
