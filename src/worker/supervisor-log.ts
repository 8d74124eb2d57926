/** What the log says of a process: which one it is, how it died, when the next one starts. */
import type { Milliseconds } from '../clock/clock';
import type { SupervisedProcess } from './supervised-process';
import { BLOCKED } from './supervision';
import type { Occupied } from './supervisor-health';

export function nameOf({ number }: Occupied, { pid }: SupervisedProcess): string {
  return pid === undefined ? `Process ${number}` : `Process ${number} (pid ${pid})`;
}

export function factsOf({ number }: Occupied, process?: SupervisedProcess): object {
  return { process: number, pid: process?.pid, code: process?.code, signal: process?.signal };
}

export function deathOf({ error, signal, code }: SupervisedProcess): string {
  if (error !== undefined) return `could not be started: ${error.message}`;
  if (signal !== undefined) return `was ended by ${signal}`;
  return code === BLOCKED ? 'was ended because a handler blocked its event loop' : `ended with code ${String(code)}`;
}

export function momentOf(pause: Milliseconds): string {
  return pause === 0 ? 'now' : `in ${pause / 1000} s`;
}
