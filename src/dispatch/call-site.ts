/**
 * Remembers where a dispatch was called, for the error of one that nobody awaited: its own stack begins in a microtask.
 *
 * Not under `NODE_ENV=production`: at some 5 µs it would nearly double what a dispatch to memory costs.
 */
import { dirname, sep } from 'node:path';

/** Three of them may be Onqueue's own. */
const FRAMES = 6;

const REMEMBERS = process.env['NODE_ENV'] !== 'production';

const PACKAGE = dirname(__dirname) + sep;

export interface CallSite {
  /** Written by the engine when it is first read, and not before. */
  readonly stack?: unknown;
}

/** @param above the function whose callers count */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export function callSite(above: Function): CallSite | undefined {
  if (!REMEMBERS) return undefined;
  const site: CallSite = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  Error.captureStackTrace(site, above);
  Error.stackTraceLimit = stackTraceLimit;
  return site;
}

/** The lines of a stack outside of Onqueue; empty where nothing is known. */
export function callersIn(site: CallSite | undefined): string {
  const stack = site?.stack;
  // An `Error.prepareStackTrace` of the application may make anything of it.
  if (typeof stack !== 'string') return '';
  const lines = stack.split('\n');
  return lines.filter((line) => /^\s+at /.test(line) && !line.includes(PACKAGE)).join('\n');
}
