// Results of Python's own libraries, to compare with.

import { spawnSync } from "node:child_process";

// Returns the JSON that a program prints. input: JSON value for its standard input
export function python(program, input = null) {
  const run = spawnSync(process.env.PYTHON ?? "python3", ["-c", program], { input: JSON.stringify(input), encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr || String(run.error));
  return JSON.parse(run.stdout);
}

// Returns a function that draws numbers from 0 to 1, the same ones for a seed (mulberry32).
export function draws(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
