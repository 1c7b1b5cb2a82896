// The page asks when a phase flips; the learner marks a moment; then it plays.
class Prediction {
  constructor(parts, player) {
    this.parts = parts;  // {run, lanes, side}
    this.player = player;
    this.number = -1;
    this.right = this.answered = 0;
  }

  start() {
    this.number = Math.max(0, this.parts.run.questions.findIndex((q) => q.from >= this.parts.run.at));
    this.next(0);
  }

  stop() {
    this.question = null;
    this.parts.lanes.stopAsking();
    this.parts.side.ask.hidden = true;
    for (const item of this.parts.side.items) item.classList.remove("unseen");
  }

  next(by) {
    const { run } = this.parts;
    this.number = (this.number + by) % run.questions.length;
    const asked = run.questions[this.number];
    this.question = { ...asked, options: asked.options.map((option) => ({ ...option })) };
    this.chosen = -1;
    this.player.pause();
    this.player.goTo(run, asked.from);
    this.hide();
    this.show();
    const first = this.parts.side.ask.querySelector("li button");
    if (first) first.focus();
  }

  hide() {
    this.parts.side.items.forEach((item, i) => item.classList.toggle("unseen", i > this.parts.run.at));
  }

  choose(i) {
    const { question } = this;
    if (!question || this.chosen !== -1 || !question.options[i]) return;
    this.chosen = i;
    question.options[i].mine = true;
    this.show();
    this.player.play();
  }

  // Called for every beat that is shown.
  reached(at) {
    const { question } = this;
    this.hide();
    if (!question || this.chosen < 0 || at < question.answer) return;
    const mine = question.options[this.chosen];
    this.chosen = -2;
    this.player.pause();
    this.player.goTo(this.parts.run, question.answer);  // a slow machine may have gone past it
    for (const option of question.options) option.shown = true;
    ++this.answered;
    if (mine.beat === question.answer) ++this.right;
    this.verdict = mine.beat === question.answer ? "Right: arrivals and bytes are both at 0 here, not before." : `${mine.why}`;
    this.show();
  }

  show() {
    const { question } = this, { lanes, side } = this.parts;
    const over = this.chosen === -2;
    side.ask.hidden = false;
    side.ask.replaceChildren(h("h2", {}, "Predict", h("span", {}, `${this.right} of ${this.answered} right`)),
      h("p", {}, `${question.name} is in phase ${question.phase}. At which of these moments does the phase flip?`),
      h("ol", {}, question.options.map((option, i) => h("li", {}, h("button", { onclick: () => this.choose(i), class: `${option.mine ? "mine" : ""}${over && option.beat === question.answer ? " right" : ""}` }, h("b", {}, String(i + 1)), option.label)))));
    if (over) side.ask.append(h("p", { class: "verdict", role: "status" }, this.verdict), h("p", { class: "go" }, h("button", { onclick: () => this.next(1) }, "Next question"), h("button", { onclick: () => this.player.predict(false) }, "Stop predicting")));
    lanes.ask(question, (i) => this.choose(i));
    lanes.update();
  }
}
