/** A failed job, as users see it. */
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
  /** The payload's text. Bytes that are not UTF-8 become replacement characters; the store keeps them unchanged. */
  readonly payload: string;
  /** The error with its stack; anything that looks like a password is masked. */
  readonly exception: string;
  readonly failedAt: Date;
  readonly attempts: number;
  /** The rest of its chain, kept in its payload: these jobs follow once the job is retried and succeeds. */
  readonly chain: readonly ChainedJob[];
  /** For a job that a chain sent because a link failed: which link, and why. */
  readonly cause: FailedLink | undefined;
  /** The id of the batch that it belongs to. */
  readonly batch: string | undefined;
}

/** Redacts the error again, because another program that shares the store may not have. */
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
  // Most payloads have no chain and need no parsing.
  if (!isCarrier && !hasFollowers(payload) && !payload.includes('"cause":{')) return NONE;
  try {
    const { chain, cause, fields } = decodeEnvelope(payload);
    return isCarrier ? { links: readCarried(fields['data']) } : { links: chain.links, cause };
  } catch {
    return NONE;
  }
}
