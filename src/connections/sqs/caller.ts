/** Calls SQS, and explains what a failure means. */
import type { SQS } from '@aws-sdk/client-sqs';
import { foreignText } from '../../base/foreign-error';
import { StoreCaller, within, type CallerSettings, type CallFailure, type Purpose, type Verdict } from '../kit/caller';
import type { SqsLink } from './client';
import { sqsQueueMissing, sqsReply } from './errors';
import { codeOf, isMissingQueue, isReply, isUnusable, remedyOf, verdictOn, type Thrown } from './refusals';

export interface Request extends Purpose {
  readonly operation: string;
  /** The queue's name or URL, for display. */
  readonly queue: string;
  /** Ends the call from outside. */
  readonly signal?: AbortSignal | undefined;
}

/** One call of the API. */
export type Send<Output> = (client: SQS, options: { readonly abortSignal: AbortSignal }) => Promise<Output>;

/** Part of the deadline: a request takes longer than one to a server nearby. */
const SHORTEST_ATTEMPT = 1 / 5;

export class SqsCaller extends StoreCaller<Request> {
  protected readonly store = 'SQS';
  readonly link: SqsLink;

  constructor(link: SqsLink, settings: CallerSettings) {
    super(settings, settings.deadline * 1000 * SHORTEST_ATTEMPT);
    this.link = link;
  }

  /** @throws QueueUnavailableError, E_SQS_QUEUE_MISSING, E_SQS_REPLY */
  call<Output>(request: Request, send: Send<Output>): Promise<Output> {
    return this.insist(request, async (milliseconds) => {
      const ending = new AbortController();
      const { signal = ending.signal, waits } = request;
      try {
        const sent = send(this.link.client, { abortSignal: AbortSignal.any([signal, ending.signal]) });
        // A request that only waits for work does not keep the process alive.
        return await within(this.settings.clock, milliseconds, sent, waits === undefined);
      } catch (error) {
        ending.abort();
        throw error;
      }
    });
  }

  /** The error of one entry of a batch, or of a whole call. */
  replyError({ operation, queue, consequence }: Request, reply: string, said: string, cause?: unknown): Error {
    const { name: connection, address } = this.settings;
    const message = foreignText(said);
    return sqsReply({ connection, address, operation, queue, consequence, reply, message }, { cause });
  }

  protected verdictOn(error: unknown, { signal }: Request): Verdict {
    return signal?.aborted === true ? 'final' : verdictOn(error);
  }

  protected explain({ error, verdict, late, uncertain }: CallFailure, request: Request): Error {
    const { name: connection, address } = this.settings;
    const { queue, consequence } = request;
    const thrown = error as Thrown;
    if (isMissingQueue(thrown)) {
      return sqsQueueMissing({ connection, address, queue, consequence }, { cause: thrown });
    }
    if (verdict === 'final' && isReply(thrown) && !isUnusable(thrown)) {
      return this.replyError(request, codeOf(thrown), thrown.message ?? '', thrown);
    }
    const said = isReply(thrown) && { reason: foreignText(`${codeOf(thrown)}: ${thrown.message ?? ''}`) };
    const refused = isReply(thrown) || isUnusable(thrown);
    return this.unavailable({ consequence, error, late, uncertain, refused, remedy: remedyOf(thrown), ...said });
  }
}
