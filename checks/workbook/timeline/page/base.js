// Helpers, and a run: its states at every beat. Text from a trace enters the page as text only.
"use strict";

const $ = (id) => document.getElementById(id);
const number = (n) => Number(n).toLocaleString("en-US");
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const set = (element, text) => { if (element.textContent !== text) element.textContent = text; };

// Counts from what stands there to the new number, so that the eye sees which way it went.
function count(element, to, animate) {
  const from = element.count === undefined ? to : element.count;
  element.count = to;
  cancelAnimationFrame(element.frame);
  if (!animate || calm() || from === to) return set(element, number(to));
  const begun = performance.now();
  const tick = (now) => {
    const part = Math.min(1, (now - begun) / 300);
    set(element, number(Math.round(from + (to - from) * part)));
    if (part < 1) element.frame = requestAnimationFrame(tick);
  };
  element.frame = requestAnimationFrame(tick);
}

const ctaName = (cta) => `CTA (${cta.index.join(",")})`;

class Run {
  constructor(view) {
    Object.assign(this, view);
    this.states = [];
    let state = {};
    for (const beat of this.beats) this.states.push(state = Object.setPrototypeOf({ ...beat.set }, state));
    if (this.states.length > 400) this.states = this.flat();
    this.at = 0;
  }
  // Long chains of prototypes are slow to search: every fiftieth state is whole.
  flat() {
    const states = [];
    let state = {};
    this.beats.forEach((beat, i) => {
      if (i % 50 === 0) {
        const whole = {};
        for (const key in state) whole[key] = state[key];
        state = whole;
      }
      states.push(state = Object.setPrototypeOf({ ...beat.set }, state));
    });
    return states;
  }
  get state() { return this.states[this.at]; }
  get beat() { return this.beats[this.at]; }
  get last() { return this.beats.length - 1; }
  // The last beat at or before a place on the axis.
  beatAt(x) {
    let low = 0, high = this.last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.beats[middle].x <= x) low = middle; else high = middle - 1;
    }
    return low;
  }
  name() { return this.title; }
}
