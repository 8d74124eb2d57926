/** What can go wrong with looking at jobs. */
import { defineError } from '../base/define-error';

/** Neither the connection nor one that is named in its place keeps records. */
export const noRecords = defineError('E_NO_RECORDS', (connection: string) => ({
  message:
    `Connection '${connection}' keeps no records. Name one that does, of driver \`redis\` or \`database\`, as ` +
    '`operations` in the configuration.',
  facts: { connection },
}));
