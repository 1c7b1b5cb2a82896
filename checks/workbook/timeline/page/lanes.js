// The run in time: who was busy from when to when. The line shows where we are; what comes is under a veil.
const GAP = 7, TOP = 20, ROW = { issuer: 24, engine: 17, stage: 24, tensor: 19, store: 17, warps: 9 };
const LEGEND = [["threads", "threads", "--threads"], ["copies", "copies under way", "--copy"], ["tensor", "tensor core", "--tensor"], ["store", "stores", "--store"]];

class LaneView {
  constructor(run, goTo, point) {
    this.run = run;
    this.goTo = goTo;
    this.scale = 0;  // pixels of a unit; 0: as wide as there is room
    this.plot = svg("svg", { role: "img", "aria-label": `Lanes of ${run.name()}: the list of steps below says the same in words` });
    this.scroll = h("div", { class: "scroll", tabindex: "-1" }, this.plot);
    this.labels = h("div", { class: "labels", "aria-hidden": "true" });
    const zoom = (factor) => () => { this.scale = Math.min(400, Math.max(this.least(), this.unit() * factor)); this.draw(); this.follow(true); };
    this.root = h("div", { class: "lanes" },
      h("div", { class: "tools" }, h("span", { class: "legend" }, LEGEND.filter(([kind]) => kind !== "store" || run.lanes.some((l) => l.kind === "store")).map(([, text, hue]) => h("span", {}, h("i", { style: `--c:var(${hue})` }), text)), h("span", {}, h("i", { class: "wait" }), "waits")),
        h("span", {}, run.unit === "cycle" ? "cycles " : "order of events, not time ", h("button", { onclick: zoom(1 / 1.5), "aria-label": "Smaller" }, "−"), " ", h("button", { onclick: zoom(1.5), "aria-label": "Larger" }, "+"), " ", h("button", { onclick: () => { this.scale = 0; this.draw(); } }, "fit"))),
      h("div", { class: "plot" }, this.labels, this.scroll));
    this.layout();
    this.scroll.addEventListener("pointerdown", (event) => this.drag(event));
    // What the pointer is over shows its source line; what is hidden in a prediction does not.
    this.scroll.addEventListener("pointerover", (event) => point(this.asked ? undefined : event.target.dataset && event.target.dataset.beat));
    this.scroll.addEventListener("pointerleave", () => point(undefined));
    new ResizeObserver(() => { if (this.width !== this.scroll.clientWidth) this.draw(); }).observe(this.scroll);
  }

  least() { return Math.max(1, this.scroll.clientWidth - 8) / this.run.end; }
  unit() { return this.scale || Math.max(this.least(), this.run.unit === "step" ? 13 : 0); }
  x(value) { return value * this.unit(); }

  // Where many are in flight at once the rows are low.
  rowHeight(lane) { return lane.rows > 4 && (lane.kind === "engine" || lane.kind === "store" || lane.kind === "tensor") ? (lane.rows > 12 ? 5 : 11) : ROW[lane.kind]; }

  layout() {
    const { lanes, ctas } = this.run;
    let y = TOP;
    this.tops = [];
    lanes.forEach((lane, i) => {
      if (ctas.length > 1 && (i === 0 || lanes[i - 1].cta !== lane.cta)) {
        this.labels.append(h("div", { class: "cta", style: `top:${y}px;height:22px` }, h("b", {}, ctaName(ctas.find((c) => c.cta === lane.cta)))));
        y += 24;
      }
      this.tops.push(y);
      const height = Math.max(lane.rows * this.rowHeight(lane), 15);
      const under = lane.role || (lane.barriers && lane.barriers.join(", ")) || (lane.warps && lane.kind === "issuer" ? `warp ${lane.warps.join(", ")}` : "") || (lane.used === false ? "not used" : "");
      this.labels.append(h("div", { style: `top:${y}px;height:${height}px` }, h("span", {}, lane.label), under && height >= 24 ? h("small", { title: under, class: height >= 34 ? "tall" : undefined }, under) : undefined));
      y += height + GAP;
    });
    this.height = y;
    this.labels.style.height = `${y}px`;
  }

  rowY(item) { return this.tops[item.lane] + item.row * this.rowHeight(this.run.lanes[item.lane]); }

  draw() {
    this.width = this.scroll.clientWidth;
    if (!this.width) return;
    const total = Math.max(this.x(this.run.end) + 4, this.width - 1);
    this.plot.setAttribute("width", total);
    this.plot.setAttribute("height", this.height);
    const hatch = svg("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("rect", { width: 5, height: 5, fill: "none" }), svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, stroke: "var(--strong)", "stroke-width": 2.4 }));
    this.veil = svg("rect", { class: "veil", y: 0, height: this.height });
    this.line = svg("g", {}, svg("line", { class: "head-line", y1: 8, y2: this.height }), svg("path", { class: "head-knob", d: "M-6 0h12v6l-6 6-6-6z" }));
    this.choices = svg("g");
    this.faults = svg("g");
    this.plot.replaceChildren(svg("defs", {}, hatch), this.axis(total), this.spans(), this.pins(), this.veil, this.faults, this.choices, this.line);
    this.drawFaults();
    if (this.asked) this.ask(this.asked.question, this.asked.choose);
    this.update();
  }

  axis(total) {
    const group = svg("g");
    for (const top of this.tops.slice(1)) group.append(svg("line", { class: "grid", x1: 0, x2: total, y1: top - GAP / 2, y2: top - GAP / 2 }));
    const rough = 90 / this.unit(), ten = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= rough));
    for (let value = 0; value <= this.run.end; value += step) {
      const x = this.x(value + (this.run.unit === "step" ? .5 : 0));
      group.append(svg("text", { class: "axis", x: Math.max(2, Math.min(x, total - 2)), y: 13, "text-anchor": !value ? "start" : x > total - 28 ? "end" : "middle" }, number(value + (this.run.unit === "step" ? 1 : 0))));
    }
    return group;
  }

  spans() {
    const group = svg("g");
    for (const span of this.run.spans) {
      const lane = this.run.lanes[span.lane], { kind } = lane, height = this.rowHeight(lane) - (kind === "warps" ? 2 : this.rowHeight(lane) < 8 ? 1 : 3);
      const x = this.x(span.x0), width = Math.max(2, this.x(span.x1) - x), y = this.rowY(span) + 1;
      group.append(svg("rect", { class: `span ${span.kind}${span.open ? " open" : ""}`, x, y, width, height, rx: height < 8 ? 1.5 : 3, "data-beat": span.beat }, svg("title", {}, this.tip(span))));
      const text = ({ used: "read" }[span.text] || span.text).split(",")[0];
      if (kind !== "warps" && span.kind !== "wait" && width > text.length * 6 + 6 && height > 9)
        group.append(svg("text", { class: `text ${span.kind}`, x: x + width / 2, y: y + height / 2 + 3.7, "text-anchor": "middle" }, text));
    }
    return group;
  }

  tip(item) {
    const beat = this.run.beats[item.beat];
    return `${item.text}${item.open ? " (never ends)" : ""}${beat ? `\n${beat.text}` : ""}`;
  }

  pins() {
    const group = svg("g");
    for (const mark of this.run.marks) {
      const kind = this.run.lanes[mark.lane].kind, x = this.x(mark.x), y = this.rowY(mark) + ROW[kind] / 2 - .5;
      const shape = { issue: svg("rect", { x: x - 3.5, y: y - 6, width: 7, height: 12, rx: 2 }), expect: svg("path", { d: `M${x} ${y - 6}l6 6-6 6-6-6z` }),
        flip: svg("path", { d: `M${x} ${y - 11}l5 5-5 5-5-5z` }), flip_empty: svg("path", { d: `M${x} ${y + 1}l5 5-5 5-5-5z` }) }[mark.kind] || svg("circle", { cx: x, cy: y, r: 1.6 });
      fill(shape, { class: `pin ${mark.kind}`, "data-beat": mark.beat }, [svg("title", {}, this.tip(mark))]);
      group.append(shape);
    }
    return group;
  }

  // A finding stands where it happened; its two lines are tied to it.
  drawFaults() {
    for (const finding of this.run.findings) {
      const x = this.x(this.run.beats[finding.beat].x);
      const side = (beat) => beat === null || beat === undefined ? [] : [svg("circle", { class: "fault-side", cx: this.x(this.run.beats[beat].x), cy: 7, r: 5 }),
        svg("path", { class: "fault-link", d: `M${this.x(this.run.beats[beat].x)} 12 V18 H${x}` })];
      this.faults.append(svg("g", { "data-finding": finding.id }, svg("title", {}, `${finding.id}: ${finding.title}`), svg("line", { class: "fault", x1: x, x2: x, y1: 4, y2: this.height }),
        svg("path", { class: "fault-flag", d: `M${x} 2h13l-4 5 4 5h-13z` }), ...side(finding.at), ...side(finding.other)));
    }
  }

  ask(question, choose) {
    this.asked = { question, choose };
    this.root.classList.add("asking");
    const y = (i) => this.height / 2 + ((i % 3) - 1) * 27;  // they may be close to each other
    this.choices.replaceChildren(...question.options.map((option, i) => svg("g", { class: `choice${option.mine ? " mine" : ""}${option.shown && option.beat === question.answer ? " right" : ""}`, onclick: (event) => { event.stopPropagation(); choose(i); } },
      svg("circle", { cx: this.x(this.run.beats[option.beat].x), cy: y(i), r: 11 }), svg("text", { x: this.x(this.run.beats[option.beat].x), y: y(i) + 4 }, String(i + 1)), svg("title", {}, option.label))));
  }

  stopAsking() {
    this.asked = null;
    this.root.classList.remove("asking");
    this.choices.replaceChildren();
  }

  update(x = this.run.beat.x) {
    if (!this.veil || !this.line) return;
    const at = this.x(x);
    this.veil.setAttribute("x", at);
    this.veil.setAttribute("width", Math.max(0, Number(this.plot.getAttribute("width")) - at));
    this.line.setAttribute("transform", `translate(${at} 0)`);
    this.at = at;
    this.follow(false);
  }

  // Keeps the line in sight.
  follow(centre) {
    const { scrollLeft, clientWidth } = this.scroll;
    if (centre || this.at < scrollLeft + 30 || this.at > scrollLeft + clientWidth * .75) this.scroll.scrollLeft = this.at - clientWidth * .4;
  }

  drag(event) {
    if (event.button !== 0 || this.asked) return;
    const beat = event.target.dataset && event.target.dataset.beat;
    if (beat !== undefined && event.pointerType !== "touch") return this.goTo(this.run, Number(beat));
    const to = (e) => this.goTo(this.run, this.run.beatAt((e.clientX - this.plot.getBoundingClientRect().left) / this.unit() + (this.run.unit === "step" ? .5 : 0)));
    if (event.pointerType === "touch") {  // a tap, not the beginning of a scroll
      const up = (e) => { if (Math.abs(e.clientX - event.clientX) < 8) to(e); };
      return this.scroll.addEventListener("pointerup", up, { once: true });
    }
    to(event);
    const move = (e) => to(e);
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  }
}
