// Beside the lanes: what happens now in words, the source line, a finding, a look into a tile, and the whole run in words.
class Side {
  constructor(run, goTo) {
    this.run = run;
    this.goTo = goTo;
    this.sentence = h("p");
    this.now = h("section", { class: "panel now", "aria-label": "Now" }, h("h2", {}, "Now", this.where = h("span")), this.sentence);
    this.table = h("table");
    this.code = h("section", { class: "panel" }, h("h2", {}, "Source", this.path = h("span")), h("div", { class: "code", tabindex: "0", role: "region", "aria-label": "Source text" }, this.table), this.instruction = h("p", { class: "instruction" }));
    this.fault = h("section", { class: "panel finding", hidden: true, role: "note" });
    this.ask = h("section", { class: "panel ask", hidden: true, "aria-label": "Your prediction" });
    this.inspector = new Inspector(run);
    this.root = h("aside", { class: "side" }, this.ask, this.fault, this.now, this.code, this.inspector.root);
    this.words = this.wordList();
    this.file = -1;
  }

  wordList() {
    this.items = this.run.beats.map((beat, i) => h("li", {}, h("button", { onclick: () => this.goTo(this.run, i), class: beat.e === "finding" ? "bad" : undefined }, h("span", {}, String(i + 1)), h("div", {}, beat.text))));
    return h("details", { class: "words" }, h("summary", {}, `The run in words, ${number(this.items.length)} steps`), h("ol", {}, this.items));
  }

  update() {
    const { run } = this, beat = run.beat;
    set(this.sentence, beat.text);
    set(this.where, `step ${number(run.at + 1)} of ${number(run.beats.length)} · ${run.unit} ${number(beat.t)}`);
    if (this.marked) this.marked.removeAttribute("aria-current");
    this.marked = this.items[run.at].firstChild;
    this.marked.setAttribute("aria-current", "step");
    const finding = run.findings.find((f) => f.beat === run.at);
    this.show(beat.lines, finding);
    this.showFinding(finding);
    this.inspector.update();
  }

  // Shows the line of a beat that is only pointed at; undefined: back to where we are.
  point(beat) {
    const at = beat === undefined || beat === "null" ? this.run.beat : this.run.beats[beat];
    this.show(at.lines, this.run.findings.find((f) => this.run.beats[f.beat] === at));
  }

  show(lines, finding) {
    const rows = (finding ? [finding.line, finding.other_line] : lines).filter((line) => line >= 0).map((line) => this.run.lines[line]);
    const here = rows.find((row) => row.file >= 0);
    if (here && here.file !== this.file) this.load(here.file);
    for (const row of this.lit || []) row.className = "";
    this.lit = [];
    rows.forEach((row, i) => {
      const element = row.file === this.file ? this.byLine.get(row.line) : undefined;
      if (!element) return;
      element.className = finding && i > 0 ? "lit other" : "lit";
      this.lit.push(element);
    });
    if (this.lit.length) {
      const box = this.table.parentElement, top = this.lit[0].getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (top < 20 || top > box.clientHeight - 40) box.scrollTop += top - box.clientHeight / 2;
    }
    set(this.instruction, rows.length ? [...new Set(rows.map((row) => row.instruction).filter(Boolean))].join("\n") : "");
  }

  load(file) {
    this.file = file;
    this.byLine = new Map();
    const { path, lines } = this.run.files[file];
    this.table.replaceChildren(...lines.map(([line, text]) => {
      const row = h("tr", {}, h("td", {}, String(line)), h("td", {}, text));
      this.byLine.set(line, row);
      return row;
    }));
    set(this.path, path + (lines.length ? "" : " (its text could not be read)"));
  }

  showFinding(finding) {
    this.fault.hidden = !finding;
    if (!finding) return;
    const row = (name, text) => text ? [h("dt", {}, name), h("dd", {}, text)] : [];
    const to = (beat, text) => beat === null || beat === undefined ? [] : [h("button", { onclick: () => this.goTo(this.run, beat) }, text)];
    this.fault.replaceChildren(h("h2", {}, `${finding.severity}: ${finding.id}`), h("p", {}, finding.title),
      h("dl", {}, row("where", finding.where), row("state", finding.state), row("why", finding.why), row("try", finding.try)),
      h("p", { class: "go" }, to(finding.at, "this side: what it happened at"), to(finding.other, "the other side")));
  }
}

// A tile, chunk by chunk: where the matrix has it, and where the swizzle puts it.
class Inspector {
  constructor(run) {
    this.run = run;
    this.group = 0;
    this.picked = 0;
    this.root = h("section", { class: "panel inspector", hidden: true, "aria-label": "A look into a tile" });
  }

  open(stage, tile) {
    this.stage = stage;
    this.index = tile;
    this.tile = this.run.stages[stage].tiles[tile];
    this.group = 0;
    this.root.hidden = false;
    this.build();
    this.root.scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
  }

  // The 128-byte swizzle exchanges the eight chunks of a 128-byte line by the line's number; 64 and 32 bytes exchange fewer.
  place(address) {
    const mask = this.tile.swizzle ? this.tile.swizzle / 16 - 1 : 0;
    return address ^ (((address >> 7) & mask) << 4);
  }

  build() {
    const { tile } = this, perRow = Math.max(1, Math.min(8, tile.row_bytes / 16));
    const rows = Math.min(8, Math.floor(1024 / Math.max(16, tile.row_bytes)), Math.max(1, tile.rows));
    this.size = rows * perRow;
    this.groups = Math.max(1, Math.ceil(tile.rows / rows));
    const grid = () => Array.from({ length: this.size }, (_, i) => h("button", { tabindex: i ? -1 : 0, onclick: () => this.pick(i), onpointerenter: () => this.pick(i), onfocus: () => this.pick(i), onkeydown: (e) => this.move(e, i) }));
    this.logical = grid();
    this.physical = Array.from({ length: Math.max(this.size, 8) }, () => h("button", { tabindex: -1, "aria-hidden": "true" }));
    const figure = (title, cells, columns) => h("figure", {}, h("figcaption", {}, title), h("div", { class: "cells", style: `grid-template-columns:repeat(${columns},1fr)` }, cells));
    this.root.replaceChildren(h("h2", {}, `Tile ${tile.name} of stage ${this.run.stages[this.stage].number}`, h("button", { onclick: () => { this.root.hidden = true; }, "aria-label": "Close" }, "×")),
      h("p", { class: "notes" }, `${number(tile.bytes)} bytes, rows of ${tile.row_bytes} bytes, ${tile.swizzle ? `${tile.swizzle}-byte swizzle` : "no swizzle"}. A chunk is 16 bytes.`),
      h("div", { class: "grids" }, figure("in the matrix: row.chunk", this.logical, perRow), figure("as it lies in shared memory", this.physical, 8)),
      h("p", { class: "walk" }, h("button", { onclick: () => this.turn(-1), "aria-label": "Rows before" }, "◀"), this.rowsText = h("span"), h("button", { onclick: () => this.turn(1), "aria-label": "Rows after" }, "▶")), this.text = h("p", { class: "place", "aria-live": "polite" }));
    this.rows = rows;
    this.perRow = perRow;
    this.update();
  }

  turn(by) { this.group = (this.group + by + this.groups) % this.groups; this.update(); }
  pick(i) { this.picked = i; this.update(); }
  move(event, i) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.perRow, ArrowDown: this.perRow }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.logical[Math.min(this.size - 1, Math.max(0, i + by))].focus();
  }

  update() {
    if (this.root.hidden || !this.tile) return;
    const { tile } = this, first = this.group * this.rows, landed = this.run.state[`s${this.stage}.${this.index}`] || 0;
    const base = tile.address + first * tile.row_bytes, shade = (column) => `hsl(163 ${38 + column * 5}% ${88 - column * 7.2}%)`;
    set(this.rowsText, `rows ${first} to ${first + this.rows - 1} of ${tile.rows}`);
    this.physical.forEach((cell) => { cell.className = "away"; set(cell, ""); });
    for (let i = 0; i < this.size; ++i) {
      const row = Math.floor(i / this.perRow), column = i % this.perRow, linear = base + row * tile.row_bytes + column * 16;
      const there = linear - tile.address < landed, target = this.physical[(this.place(linear) - (base & ~127)) / 16];
      for (const cell of [this.logical[i], target]) {
        if (!cell) continue;
        cell.className = (there ? "" : "away") + (i === this.picked ? " picked" : "");
        cell.style.setProperty("--shade", shade(column));
        set(cell, `${first + row}.${column}`);
      }
      this.logical[i].setAttribute("aria-label", `row ${first + row}, chunk ${column}${there ? "" : ", not there yet"}`);
    }
    const row = Math.floor(this.picked / this.perRow), column = this.picked % this.perRow, linear = base + row * tile.row_bytes + column * 16, put = this.place(linear);
    const line = (put >> 7) & 7, mask = tile.swizzle ? tile.swizzle / 16 - 1 : 0, plain = (linear >> 4) & 7;
    this.text.replaceChildren(`Row ${first + row}, chunk ${column}: line ${put >> 7} of shared memory, position `, h("code", {}, mask ? `${plain} XOR ${line & mask} = ${(put >> 4) & 7}` : String(plain)), ", address ", h("code", {}, `0x${put.toString(16)}`), linear - tile.address < landed ? "." : ". It is not there yet.");
  }
}
