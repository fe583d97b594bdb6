import { readFileSync } from 'node:fs';

/**
 * Loaded into a process by `--import`, and so into all of its threads: the time of day goes ahead of the machine's by as many milliseconds
 * as the file says that `STEPPED_CLOCK` names, from the moment on at which it says so.
 */
const LOOK_MS = 20;
const file = process.env.STEPPED_CLOCK as string;
let ahead = 0;
const look = () => {
  ahead = Number(readFileSync(file, 'utf8')) || 0;
};
look();
setInterval(look, LOOK_MS).unref();

const MachineDate = Date;
globalThis.Date = new Proxy(MachineDate, {
  construct: (target, args, own) =>
    Reflect.construct(target, args.length > 0 ? args : [target.now() + ahead], own),
  get: (target, name) => (name === 'now' ? () => target.now() + ahead : Reflect.get(target, name)),
});
