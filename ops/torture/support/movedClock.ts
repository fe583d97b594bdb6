import { readFileSync } from 'node:fs';

/**
 * Loaded before the service, in each of its threads: its clock is off by the number of milliseconds in the file
 * `TORTURE_CLOCK`.
 */
const { TORTURE_CLOCK = '' } = process.env;
const LOOK_EVERY_MS = 50;
const { now } = Date;
let off = 0;
let lookedAt = Number.NEGATIVE_INFINITY;

Date.now = () => {
  const moment = performance.now();
  if (moment > lookedAt + LOOK_EVERY_MS) {
    lookedAt = moment;
    off = Number(readFileSync(TORTURE_CLOCK, 'utf8')) || 0;
  }
  return now() + off;
};
