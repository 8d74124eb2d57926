/**
 * Errors that only beanstalkd answers with. A beanstalkd that does not answer is a `QueueUnavailableError`, as with every
 * store.
 */
import { defineError } from '../../base/onqueue-error';
import type { Unserved } from '../errors';
import type { OldVersion } from '../kit/requirements';

/** The queue's name is not a valid tube name. */
export const tubeName = defineError('E_BEANSTALKD_TUBE_NAME', (connection: string, queue: string, tube: string) => {
  const whole = tube === queue ? '' : ` (the tube '${tube}')`;
  return {
    message:
      `'${queue}'${whole} cannot be a queue of connection '${connection}': a tube of beanstalkd has a name of letters, digits ` +
      'and - + / ; . $ _ ( ), of 200 characters at most, that does not begin with -.',
    facts: { connection, queue },
  };
});

/** Both in bytes. */
type Sizes = Unserved & { readonly size: number; readonly limit: number };

/** The text is longer than the server takes; nothing of the call was sent. */
export const jobTooBig = defineError('E_BEANSTALKD_JOB_TOO_BIG', (facts: Sizes) => ({
  message:
    `beanstalkd at ${facts.address} takes up to ${facts.limit} bytes, and the text has ${facts.size}; ${facts.consequence}. ` +
    `Pass an id and load the data in handle(), or start the server with -z ${2 ** Math.ceil(Math.log2(facts.size))}.`,
  facts,
}));

/** The server's answer to a command, in its own words. */
type UnexpectedReply = Unserved & { readonly command: string; readonly reply: string };

/** An answer that does not go away by itself: `UNKNOWN_COMMAND` of an old server, `BAD_FORMAT`, `INTERNAL_ERROR`. */
export const beanstalkdReply = defineError('E_BEANSTALKD_REPLY', (facts: UnexpectedReply) => ({
  message:
    `beanstalkd at ${facts.address} answered '${facts.command}' with '${facts.reply}'; ${facts.consequence}. ` +
    'Is it version 1.10 or newer? `onqueue check` says more.',
  facts,
}));

/** The server is older than the driver supports. Detected when a connection is made. */
export const beanstalkdVersion = defineError('E_BEANSTALKD_VERSION', (facts: OldVersion) => ({
  message:
    `Connection '${facts.connection}' leads to beanstalkd ${facts.found} at ${facts.address}; ${facts.consequence}. ` +
    `Install version ${facts.needed} or newer.`,
  facts,
}));
