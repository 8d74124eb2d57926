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
