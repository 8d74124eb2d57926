/** Says what a beanstalkd that does not answer, or refuses, means to whoever asked. */
import { wordsOf } from '../../base/foreign-error';
import { QueueUnavailableError } from '../errors';
import { isUnknownHost, UNKNOWN_HOST_REMEDY } from '../kit/unknown-host';
import { BeanstalkdReplyError } from './errors';
import { LinkEnded, type LinkSettings, Overdue } from './link';
import type { Reply } from './replies';

const REMEDIES: Readonly<Record<string, string>> = {
  DRAINING: 'It was told to take no more jobs (SIGUSR1); start it anew, or send them to another one.',
  OUT_OF_MEMORY: 'Give it more memory, or make room.',
  BURIED: 'It has no memory left: give it more, or make room.',
};

interface Failed {
  readonly consequence: string;
  /** It was sent, and may have been carried out. */
  readonly uncertain?: boolean | undefined;
  /** Was waited for until the deadline. Default: as the error says. */
  readonly late?: boolean | undefined;
}

/** The error for a connection that does not come about, or ended, or was silent. */
export function unavailable(
  { name, address, deadline }: LinkSettings,
  error: unknown,
  { consequence, uncertain = false, late = error instanceof Overdue }: Failed,
): QueueUnavailableError {
  const reason = error instanceof Overdue ? undefined : wordsOf(error);
  return new QueueUnavailableError(
    {
      connection: name,
      store: 'beanstalkd',
      address,
      consequence,
      uncertain,
      ...(late && { deadline }),
      ...(reason !== undefined && { reason }),
      ...(isUnknownHost(error) && { remedy: UNKNOWN_HOST_REMEDY }),
    },
    { cause: error },
  );
}

/** The error for an answer that is a refusal. */
export function refusal(
  settings: LinkSettings,
  command: string,
  reply: Reply,
  { consequence, uncertain = false }: Omit<Failed, 'late'>,
): Error {
  const { name: connection, address } = settings;
  const said = [reply.word, ...reply.args].join(' ');
  const remedy = REMEDIES[reply.word];
  if (remedy === undefined) return new BeanstalkdReplyError({ connection, address, command, reply: said, consequence });
  return new QueueUnavailableError({
    connection,
    store: 'beanstalkd',
    address,
    consequence,
    refused: true,
    uncertain,
    reason: said,
    remedy,
  });
}

/** Whether it is worth another connection; what else is thrown is a defect or an answer. */
export const isAway = (error: unknown): boolean => error instanceof LinkEnded || error instanceof Overdue;
