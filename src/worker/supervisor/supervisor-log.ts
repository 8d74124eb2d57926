/** What the log says of a process: which one it is, how it died, when the next one starts. */
import type { Milliseconds } from '../../base/clock';
import type { SupervisedProcess } from './supervised-process';
import { BLOCKED } from './supervision';
import type { Occupied } from './supervisor-health';

export function nameOf({ number }: Occupied, { pid }: SupervisedProcess): string {
  return pid === undefined ? `Process ${number}` : `Process ${number} (pid ${pid})`;
}

export function factsOf({ number }: Occupied, process?: SupervisedProcess): object {
  const { pid, code, signal, jobs = [] } = process ?? {};
  return { process: number, pid, code, signal, ...(process?.isOver === true && jobs.length > 0 && { jobs }) };
}

export function deathOf(process: SupervisedProcess): string {
  const { error } = process;
  return error === undefined ? `${endOf(process)}${held(process)}` : `could not be started: ${error.message}`;
}

function endOf({ signal, code }: SupervisedProcess): string {
  if (signal !== undefined) return `was ended by ${signal}`;
  return code === BLOCKED ? 'was ended because a handler blocked its event loop' : `ended with code ${String(code)}`;
}

/** What it ran, as far as it could still say so. */
export function held({ jobs, health }: SupervisedProcess): string {
  if (jobs.length === 0) return '';
  const names = jobs.map(({ job, id }) => `${job} ${id}`);
  const others = (health?.running ?? 0) - jobs.length;
  return ` while it ran ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

export function momentOf(pause: Milliseconds): string {
  return pause === 0 ? 'now' : `in ${pause / 1000} s`;
}
