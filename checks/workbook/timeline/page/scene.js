// The machine at one moment: threads, copy engine, stages with their barriers, tensor core, store engine.
class Scene {
  constructor(run, inspect, goTo) {
    this.run = run;
    this.update_ = [];
    this.root = h("div", { class: "scene", role: "group", "aria-label": "The machine at this moment" });
    const stages = run.stages.map((stage, i) => [stage, i]);
    const finding = run.findings.find((f) => f.severity === "error") || run.findings[0], more = run.findings.length - 1;
    if (finding) this.root.append(h("button", { class: `alert ${finding.severity}`, onclick: () => goTo(run, finding.beat) }, h("b", {}, `${finding.severity}: ${finding.id}`),
      ` at step ${number(finding.beat + 1)}: ${finding.title}`, more ? h("span", {}, `, and ${more} more (F)`) : undefined));
    for (const cta of run.ctas) {
      if (run.ctas.length > 1) this.root.append(h("h2", {}, ctaName(cta)));
      const engines = [["engine", "Copy engine"], ["tensor", "Tensor core"], ["store", "Store engine"]].filter(([kind]) => run.lanes.some((l) => l.kind === kind && l.cta === cta.cta));
      this.root.append(this.threads(cta.cta), h("div", { class: "engines" }, engines.map(([kind, title]) => this.engine(kind, title, cta.cta))),
        h("div", { class: stages.filter(([stage]) => stage.cta === cta.cta).length === 4 ? "stages four" : "stages" }, stages.filter(([stage]) => stage.cta === cta.cta).map(([stage, i]) => this.stage(stage, i, inspect))));
    }
  }

  update(animate) { for (const update of this.update_) update(this.run.state, animate && !calm()); }

  threads(cta) {
    const boxes = new Map();
    for (const lane of this.run.lanes)
      if (lane.kind === "warps" && lane.cta === cta) for (const warp of lane.warps) boxes.set(warp, h("div", { class: "warp" }));
    const card = h("div", { class: "card threads" }, h("h3", {}, "Threads", h("em", {}, `${boxes.size} warps`)), h("div", { class: "warps" }, [...boxes.values()]));
    this.update_.push((state) => {
      for (const [warp, box] of boxes) {
        const does = state[`w${cta}.${warp}`] || "";
        set(box, `${warp} ${does}`);
        box.title = `warp ${warp} ${does}`;
        box.className = "warp" + (/^waits/.test(does) ? " waits" : does === "multiplies" ? " multiplies" : /left/.test(does) ? " left" : /global|shared|copies|bytes/.test(does) ? " copies" : "");
      }
    });
    return card;
  }

  engine(kind, title, cta) {
    const chips = h("div", { class: "chips" });
    const lamp = h("em");
    const card = h("div", { class: `card ${kind}` }, h("h3", {}, title, lamp), chips);
    const used = this.run.lanes.some((l) => l.kind === kind && l.cta === cta && l.used);
    this.update_.push((state) => {
      const busy = state[kind + cta] || [];
      card.classList.toggle("on", busy.length > 0);
      set(lamp, busy.length ? "busy" : "");
      const most = kind === "tensor" ? 4 : 6;
      const shown = busy.slice(0, most).concat(busy.length > most ? [`and ${busy.length - most} more`] : []);
      if (chips.dataset.text === shown.join("|") && chips.firstChild) return;
      chips.dataset.text = shown.join("|");
      chips.replaceChildren(...(shown.length ? shown.map((text) => h("span", { class: "chip" }, text)) : [h("span", { class: "chip none" }, used ? "idle" : "not used in this run")]));
    });
    return card;
  }

  stage(stage, index, inspect) {
    const tiles = stage.tiles.map((tile, j) => {
      const level = h("i");
      const button = h("button", { class: "tile", onclick: () => inspect(index, j), "aria-label": `Look into tile ${tile.name} of stage ${stage.number}` }, level, h("b", {}, tile.name));
      this.update_.push((state) => {
        const landed = state[`s${index}.${j}`] || 0;
        level.style.height = `${(100 * landed) / tile.bytes}%`;
        button.title = `${tile.name}: ${number(landed)} of ${number(tile.bytes)} bytes are there; click to look into it`;
        button.dataset.landed = landed;
        button.classList.toggle("short", state[`s${index}.state`] === "used" && landed < tile.bytes);
      });
      return button;
    });
    const word = h("span", { class: "state" }), what = h("em");
    const threaded = !this.run.lanes.some((l) => l.kind === "engine" && l.used);
    const card = h("div", { class: "card stage", "data-stage": index }, h("h3", {}, h("span", {}, `Stage ${stage.number} `, what), word), h("div", { class: "tiles" }, tiles));
    for (const barrier of [stage.full, stage.empty]) if (barrier !== null) card.append(this.barrier(barrier));
    const words = { filling: "filling", full: "full", used: "being read", read: "read", empty: "empty" };
    this.update_.push((state) => {
      const now = state[`s${index}.state`] || "empty";
      card.className = `card stage ${now}${now === "filling" || now === "used" ? " on" : ""}${threaded ? " threaded" : ""}`;
      set(word, words[now]);
      set(what, state[`s${index}.what`] || "");
    });
    return card;
  }

  // Two counters that are never added together, and the phase bit.
  barrier(id) {
    const pending = h("span"), expected = h("small"), bytes = h("span"), bit = h("span", { class: "bit" }), budget = h("i");
    const counts = this.run.beats.some((beat) => `b${id}.announced` in beat.set && beat.set[`b${id}.announced`] > 0);
    const box = h("div", { class: "bar", "data-barrier": id }, h("h4", {}, this.run.barriers[id].name),
      h("dl", {}, h("dt", {}, "pending arrivals"), h("dd", {}, pending, expected)),
      counts ? h("dl", {}, h("dt", {}, "pending bytes"), h("dd", {}, bytes)) : h("dl"),
      h("dl", {}, h("dt", {}, "phase bit"), h("dd", {}, bit)), counts ? h("div", { class: "budget", "aria-hidden": "true" }, budget) : undefined);
    let shown;
    this.update_.push((state, animate) => {
      const value = (key) => state[`b${id}.${key}`];
      const alive = value("pending") !== undefined;
      box.style.opacity = alive ? 1 : .4;
      count(pending, value("pending") || 0, animate);
      set(expected, ` of ${number(value("expected") || 0)}`);
      count(bytes, value("bytes") || 0, animate);
      bytes.className = value("announced") || !value("bytes") ? "" : "zero";
      budget.style.width = value("announced") ? `${(100 * value("bytes")) / value("announced")}%` : "0";
      const phase = value("phase") || 0;
      set(bit, String(phase % 2));
      bit.title = `phase ${phase}`;
      bit.classList.toggle("one", phase % 2 === 1);
      Object.assign(box.dataset, { pending: value("pending") || 0, bytes: value("bytes") || 0, phase });
      if (animate && shown !== undefined && shown !== phase) {
        for (const [element, name] of [[bit, "flip"], [box, "flash"]]) {
          element.classList.remove(name);
          void element.offsetWidth;
          element.classList.add(name);
        }
      }
      shown = phase;
    });
    return box;
  }
}
