/** A failed job, as it is shown. */
import { redact } from '../../base/redact';
import type { FailedEntry } from '../../connections/failed-store';
import type { ChainedJob, FailedLink } from '../../job/job-context';
import { CARRIER, chainedJobOf, type ChainLink, readCarried } from '../../payload/chain';
import { decodeEnvelope } from '../../payload/envelope';
import { hasFollowers } from '../../payload/payload-text';
import { readTies } from '../../payload/ties';

export interface FailedJob {
  readonly id: string;
  readonly connection: string;
  readonly queue: string;
  readonly name: string;
  /** The payload's text. Bytes that are no UTF-8 are shown as replacement characters; the store keeps them as they are. */
  readonly payload: string;
  /** The error with its stack, without what looks like a password. */
  readonly exception: string;
  readonly failedAt: Date;
  readonly attempts: number;
  /** The rest of its chain, which waits in its payload: it follows once the job is retried and succeeds. */
  readonly chain: readonly ChainedJob[];
  /** Of a job that a chain sent where a link failed: which, and why. */
  readonly cause: FailedLink | undefined;
  /** The id of the batch that it belongs to. */
  readonly batch: string | undefined;
}

/** Another program that shares the store may have kept an error as it was. */
export function failedJobOf({ payload, failedAt, exception, ...entry }: FailedEntry): FailedJob {
  const { links, cause } = chainOf(entry.name, payload);
  return {
    ...entry,
    payload: payload.toString(),
    exception: redact(exception),
    failedAt: new Date(failedAt),
    chain: links.map((link) => chainedJobOf(link, entry.connection)),
    cause,
    batch: readTies(payload)?.batch?.id,
  };
}

interface ReadChain {
  readonly links: readonly ChainLink[];
  readonly cause?: FailedLink | undefined;
}

const NONE: ReadChain = { links: [] };

function chainOf(name: string, payload: Buffer): ReadChain {
  const isCarrier = name === CARRIER;
  // Most are in no chain, and are not parsed.
  if (!isCarrier && !hasFollowers(payload) && !payload.includes('"cause":{')) return NONE;
  try {
    const { chain, cause, fields } = decodeEnvelope(payload);
    return isCarrier ? { links: readCarried(fields['data']) } : { links: chain.links, cause };
  } catch {
    return NONE;
  }
}
