"""From a trace (common/emulator/trace/README.md) to a page that plays it, and to a figure that can be printed.

  read      the file, with its ids checked             names     what barriers, tiles and warps are called
  stages    which tiles belong to which barrier        beats     events that belong together, and what each changes
  words     a sentence for each beat                   lanes     who was busy from when to when
  questions what the page asks the learner             view      all of it, as the page and the figure take it
  page      build/trace/NN.html                        figure    build/trace/NN.svg
  tiles     a figure of whole tiles of C, on one SM
"""

from .figure import write_figure
from .page import make_page
from .read import Malformed
from .tiles import write_tiles

__all__ = ["Malformed", "make_page", "write_figure", "write_tiles"]
