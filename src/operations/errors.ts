/** What can go wrong with looking at jobs. */
import { defineError } from '../base/define-error';
import { valueText } from '../base/value-text';

/** Neither the connection nor one that is named in its place keeps records. */
export const noRecords = defineError('E_NO_RECORDS', (connection: string) => ({
  message:
    `Connection '${connection}' keeps no records. Name one that does, of driver \`redis\` or \`database\`, as ` +
    '`operations` in the configuration.',
  facts: { connection },
}));

/** `remedy`: as a sentence. */
export const invalidListing = defineError('E_INVALID_LISTING', (option: string, value: unknown, remedy: string) => ({
  message: `Jobs cannot be listed by ${option} ${valueText(value)}. ${remedy}`,
  facts: { option, value },
}));

/** A limit of `Queue.monitor` that says nothing. */
export const invalidMonitor = defineError('E_INVALID_MONITOR', (path: string, problem: string, value: unknown) => ({
  message: `Queue.monitor(): ${path === '' ? 'it' : path} ${problem}. Write Queue.monitor({ mail: { size: 1000, wait: '5m' } }).`,
  facts: { path, value },
}));

/** Figures were asked for over a span of which none are kept. */
export const invalidSpan = defineError('E_INVALID_SPAN', (within: unknown) => ({
  message: `figures({ within: ${valueText(within)} }): figures are kept for 7 days. Give more than 0 and '7d' at most.`,
  facts: { within },
}));
