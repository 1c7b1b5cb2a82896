// The page: which runs are shown, and the player that moves them together.
class Player {
  constructor(runs) {
    this.runs = runs;
    this.shown = [];
    this.place = 0;  // on the axis
    this.speed = 1;
    this.playing = false;
    this.prediction = null;
    this.choices();
    this.controls();
    this.show(0, runs.length > 1 && innerWidth > 700 && location.hash.includes("pair") ? 1 : -1);
    $("controls").hidden = false;
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.fromHash());
    this.fromHash();
  }

  // #12 is step 12, #pair the first two runs side by side.
  fromHash() {
    const words = location.hash.slice(1).split(",");
    if (words.includes("pair") && this.runs.length > 1 && this.shown.length < 2) this.show(0, 1);
    const step = words.find((word) => /^\d+$/.test(word));
    if (step) this.goTo(this.shown[0].run, Math.min(Number(step) - 1, this.shown[0].run.last));
  }

  choices() {
    if (this.runs.length < 2) return;
    const select = (id, text, none) => h("label", {}, text, h("select", { id, onchange: () => this.show(Number($("left").value), Number($("right").value)) }, none ? h("option", { value: -1 }, "nothing") : undefined, this.runs.map((run, i) => h("option", { value: i }, run.name()))));
    $("choices").append(select("left", "Run"), select("right", "beside", true));
  }

  show(left, right) {
    this.pause();
    if (this.prediction) this.predict(false);
    const chosen = [left].concat(right >= 0 && right !== left ? [right] : []);
    if ($("left")) [$("left").value, $("right").value] = [left, chosen[1] === undefined ? -1 : right];
    this.shown = chosen.map((i) => this.build(this.runs[i]));
    $("main").classList.toggle("pair", this.shown.length > 1);
    $("controls").classList.toggle("pair-shown", this.shown.length > 1);
    $("main").replaceChildren(...this.shown.map((part) => part.root));
    const run = this.shown[0].run;
    set($("subtitle"), this.shown.length > 1 ? "Two runs, moved together" : about(run));
    const asks = this.shown.find((part) => part.run.questions.length);
    $("predict").disabled = !asks;
    $("predict").title = asks ? "Say when the phase flips, then watch (P)" : "There is no mbarrier phase in this run to predict";
    this.end = Math.max(...this.shown.map((part) => part.run.beats[part.run.last].x));
    const byStep = this.byStep();
    Object.assign($("scrub"), { min: byStep ? 0 : run.beats[0].x, max: byStep ? Math.max(...this.shown.map((p) => p.run.last)) : this.end, step: byStep ? 1 : "any" });
    for (const part of this.shown) part.lanes.draw();
    this.jump(this.axis(0));
  }

  byStep() { return this.shown.every((part) => part.run.unit === "step"); }
  axis(i) { return this.shown[0].run.beats[Math.min(i, this.shown[0].run.last)].x; }

  build(run) {
    const goTo = (of, beat) => { this.pause(); this.goTo(of, beat); };
    const side = new Side(run, goTo), lanes = new LaneView(run, goTo, (beat) => side.point(beat));
    const scene = new Scene(run, (stage, tile) => side.inspector.open(stage, tile), goTo);
    const notes = run.left_out.length ? h("p", { class: "notes" }, `Left out: ${run.left_out.join("; ")}.`) : undefined;
    const root = h("article", { class: "run", "aria-label": run.name() }, h("div", { class: "head" }, run.name(), h("small", {}, about(run))), scene.root, h("div", { class: "lanes-box" }, lanes.root, notes), side.root, side.words);
    root.children[2].style.gridArea = "lanes";
    root.children[2].style.minWidth = 0;
    return { run, side, lanes, scene, root };
  }

  goTo(run, beat) { this.jump(run.beats[beat].x); }

  jump(place, animate = false) {
    this.place = Math.min(Math.max(place, 0), this.end);
    this.refresh(animate, true);
  }

  refresh(animate, force) {
    for (const part of this.shown) {
      const at = part.run.beatAt(this.place);
      const moved = at !== part.run.at || force;
      part.run.at = at;
      part.lanes.update(this.playing && !calm() ? Math.min(this.place, part.run.end) : part.run.beat.x);
      if (!moved) continue;
      part.scene.update(animate);
      part.side.update();
      if (this.prediction && this.prediction.parts === part) this.prediction.reached(at);
      if (this.playing && part.run.findings.some((f) => f.beat === at)) this.pause();
      this.says(part);
    }
    const first = this.longest();
    $("scrub").value = this.byStep() ? first.at : this.place;
    $("scrub").setAttribute("aria-valuetext", first.beat.text);
    set($("position"), `step ${number(first.at + 1)} of ${number(first.beats.length)}`);
  }

  longest() { return this.shown.map((part) => part.run).reduce((a, b) => (b.last > a.last ? b : a)); }

  says(part) {
    const text = this.shown.length > 1 ? this.shown.map((p) => `${p.run.name()}: ${p.run.beat.text}`).join(" — ") : part.run.beat.text;
    set($("live"), text);
  }

  // ---- moving
  step(by) {
    this.pause();
    const places = this.shown.map((part) => part.run.beats[Math.min(Math.max(part.run.at + by, 0), part.run.last)].x);
    const moved = places.filter((x) => (by > 0 ? x > this.place : x < this.place));
    if (moved.length) this.jump(by > 0 ? Math.min(...moved) : Math.max(...moved), by > 0);
  }

  play() {
    if (this.place >= this.end) this.jump(this.axis(0));
    this.playing = true;
    this.mark();
    let before = performance.now();
    const rate = 1.6 * (this.byStep() ? 1 : this.end / this.longest().beats.length);
    const tick = (now) => {
      if (!this.playing) return;
      this.place = Math.min(this.end, this.place + ((now - before) / 1000) * this.speed * rate);
      before = now;
      this.refresh(true, false);
      if (this.place >= this.end) this.pause();
      if (this.playing) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.place = Math.max(...this.shown.map((part) => part.run.beat.x));
    this.mark();
    for (const part of this.shown) part.lanes.update();
  }

  mark() {
    document.body.classList.toggle("playing", this.playing);
    $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  predict(on) {
    if (this.prediction) this.prediction.stop();
    this.prediction = null;
    $("predict").setAttribute("aria-pressed", String(on));
    const part = this.shown.find((p) => p.run.questions.length);
    if (!on || !part) return this.refresh(false, true);
    this.prediction = new Prediction(part, this);
    this.prediction.start();
  }

  // ---- hands
  controls() {
    const on = (id, what) => $(id).addEventListener("click", what);
    on("first", () => { this.pause(); this.jump(this.axis(0)); });
    on("last", () => { this.pause(); this.jump(this.end); });
    on("back", () => this.step(-1));
    on("step", () => this.step(1));
    on("play", () => (this.playing ? this.pause() : this.play()));
    on("predict", () => this.predict(!this.prediction));
    $("scrub").addEventListener("input", () => { this.pause(); this.jump(this.byStep() ? this.longest().beats[Number($("scrub").value)].x : Number($("scrub").value)); });
    $("speed").addEventListener("change", () => { this.speed = Number($("speed").value); });
  }

  key(event) {
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey || inField) return;
    if (event.key === " " && event.target.closest("button, summary, a")) return;
    const does = { " ": () => (this.playing ? this.pause() : this.play()), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), Home: () => { this.pause(); this.jump(this.axis(0)); },
      End: () => { this.pause(); this.jump(this.end); }, p: () => !$("predict").disabled && this.predict(!this.prediction), f: () => this.nextFinding(), "+": () => this.faster(1), "-": () => this.faster(-1) }[event.key];
    if (does) does();
    else if (this.prediction && /^[1-9]$/.test(event.key)) this.prediction.choose(Number(event.key) - 1);
    else return;
    event.preventDefault();
  }

  faster(by) {
    const select = $("speed");
    select.selectedIndex = Math.min(select.options.length - 1, Math.max(0, select.selectedIndex + by));
    this.speed = Number(select.value);
  }

  nextFinding() {
    for (const { run } of this.shown) {
      const next = run.findings.find((f) => f.beat > run.at) || run.findings[0];
      if (next) return this.goTo(run, next.beat);
    }
  }
}

function about(run) {
  const size = (v) => v.filter((n, i) => n > 1 || i === 0).join(" × ");
  const unit = run.unit === "cycle" ? "predicted cycles of an H200" : "emulated steps: an order of events, not time";
  return `${run.kernel.split("(")[0].replace("void ", "")}, grid ${size(run.grid)}, block ${size(run.block)}, schedule ${run.schedule}, ${unit}`;
}

function help() {
  const keys = [["Space", "play or pause"], ["← →", "step"], ["Home End", "to the beginning, the end"], ["+ −", "speed"], ["P", "predict"], ["F", "next finding"]];
  return h("p", { class: "keys" }, keys.flatMap(([key, what]) => [h("kbd", {}, key), ` ${what}   `]));
}

const message = $("message");
try {
  const views = JSON.parse($("runs").textContent);
  if (views.length) {
    window.player = new Player(views.map((view) => new Run(view)));
    $("main").after(help());
    if (message.textContent) $("main").before(message);  // another run of this page cannot be shown
  }
} catch (error) {
  message.textContent = `This run cannot be shown: ${error.message}\n\nMake the page again with the command that made it.`;
  $("main").replaceChildren(message);
  $("controls").hidden = true;
}
