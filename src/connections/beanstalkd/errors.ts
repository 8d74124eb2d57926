/** What only a beanstalkd can answer. That it does not answer is `QueueUnavailableError`, as with every store. */
import { OnqueueError } from '../../base/onqueue-error';
import type { Consequential } from '../errors';
import type { OldVersion } from '../kit/older-version';

/** A queue's name that a tube cannot bear. */
export class TubeNameError extends OnqueueError<{ readonly connection: string; readonly queue: string }> {
  readonly code = 'E_BEANSTALKD_TUBE_NAME';

  constructor(connection: string, queue: string, tube: string) {
    const whole = tube === queue ? '' : ` (the tube '${tube}')`;
    super(
      `'${queue}'${whole} cannot be a queue of connection '${connection}': a tube of beanstalkd has a name of letters, digits ` +
        'and - + / ; . $ _ ( ), of 200 characters at most, that does not begin with -.',
      { connection, queue },
    );
  }
}

export interface TooBig {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly address: string;
  /** Bytes, as is `limit`. */
  readonly size: number;
  readonly limit: number;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
}

/** A text that is longer than the server takes; nothing of the call was sent. */
export class JobTooBigError extends OnqueueError<TooBig> implements Consequential {
  readonly code = 'E_BEANSTALKD_JOB_TOO_BIG';

  constructor(facts: TooBig) {
    const { address, size, limit, consequence } = facts;
    super(
      `beanstalkd at ${address} takes up to ${limit} bytes, and the text has ${size}; ${consequence}. ` +
        `Pass an id and load the data in handle(), or start the server with -z ${2 ** Math.ceil(Math.log2(size))}.`,
      facts,
    );
  }

  withConsequence(consequence: string): JobTooBigError {
    return new JobTooBigError({ ...this.facts, consequence });
  }
}

export interface UnexpectedReply {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly address: string;
  readonly command: string;
  /** What the server answered, in its own words. */
  readonly reply: string;
  /** What was not done for it, as a clause. */
  readonly consequence: string;
}

/** An answer that waiting does not mend: `UNKNOWN_COMMAND` of an old server, `BAD_FORMAT`, `INTERNAL_ERROR`. */
export class BeanstalkdReplyError extends OnqueueError<UnexpectedReply> implements Consequential {
  readonly code = 'E_BEANSTALKD_REPLY';

  constructor(facts: UnexpectedReply) {
    const { address, command, reply, consequence } = facts;
    super(
      `beanstalkd at ${address} answered '${command}' with '${reply}'; ${consequence}. ` +
        'Is it version 1.10 or newer? `onqueue check` says more.',
      facts,
    );
  }

  withConsequence(consequence: string): BeanstalkdReplyError {
    return new BeanstalkdReplyError({ ...this.facts, consequence });
  }
}

/** The server is older than what the driver was made for. It is told by what it says of itself when a connection is made. */
export class BeanstalkdVersionError extends OnqueueError<OldVersion> implements Consequential {
  readonly code = 'E_BEANSTALKD_VERSION';

  constructor(facts: OldVersion) {
    const { connection, address, found, needed, consequence } = facts;
    super(
      `Connection '${connection}' leads to beanstalkd ${found} at ${address}; ${consequence}. Install version ${needed} or newer.`,
      facts,
    );
  }

  withConsequence(consequence: string): BeanstalkdVersionError {
    return new BeanstalkdVersionError({ ...this.facts, consequence });
  }
}
