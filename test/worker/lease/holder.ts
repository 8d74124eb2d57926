/** A job as the lease keepers see it. */
import { noCounters, type Counters } from '../../../src/payload/counters';
import type { Held } from '../../../src/worker/lease/renewal';

export interface HolderFacts {
  readonly text?: string | Buffer;
  readonly queue?: string;
  readonly counters?: Partial<Counters>;
  readonly token?: unknown;
}

let number = 0;

export function holderOf({ text = '{}', queue = 'default', counters, token }: HolderFacts = {}): Pick<
  Held,
  'number' | 'reservation'
> {
  number += 1;
  const reservation = {
    queue,
    payload: Buffer.from(text),
    counters: { ...noCounters, attempts: 1, ...counters },
    token,
  };
  return { number, reservation };
}
