/**
 * Compares the unique keys and batches of a Redis with the texts of all jobs.
 *
 * One script looks at all of them, because jobs move and a page-by-page reader would miss some; a key freed by mistake would
 * let a second job in. So their number is limited such that Redis is busy for less than a second.
 */
import { WAITING_STATES, type Finding, type RecountOptions } from '../contract';
import { tooMuchToRecount } from './errors';
import { SHARED } from './redis-batch-store';
import type { RedisStore } from './store';

const MOST_JOBS = 100_000;
const MOST_BYTES = 128 * 1024 * 1024;

const SCANNED = 1000;
const CONSEQUENCE = 'nothing was recounted';

export async function recount(store: RedisStore, { repair }: RecountOptions): Promise<readonly Finding[]> {
  const way = repair ? 'repair' : 'look';
  if (store.cluster === undefined) {
    for (;;) {
      const known = await store.names.all();
      const queues = [...new Set([...known, ...(await unnamedQueues(store))])];
      const findings = await ask(store, SHARED, queues, [way, known.length]);
      if (findings !== undefined) return findings;
    }
  }
  const findings: Finding[] = [];
  for (const queue of await store.names.all()) findings.push(...(await ask(store, queue, [queue], [way, -1]))!);
  return findings;
}

/** Undefined if a queue was added meanwhile. @throws E_REDIS_RECOUNT */
async function ask(
  store: RedisStore,
  owner: string,
  queues: readonly string[],
  how: readonly (string | number)[],
): Promise<readonly Finding[] | undefined> {
  const texts = queues.flatMap((queue) => store.keys.of(queue, WAITING_STATES));
  const [word, findings] = await store.recorded.ask(owner, {
    script: 'recount',
    keys: ['unique', 'batches', 'cancelledBatches'],
    others: [store.cluster === undefined ? store.keys.names : store.keys.queue(owner).unique, ...texts],
    args: [...how, MOST_JOBS, MOST_BYTES],
    consequence: CONSEQUENCE,
  });
  if (String(word) === 'unseen') {
    const { name: connection, address } = store.caller.settings;
    throw tooMuchToRecount({ connection, address, jobs: MOST_JOBS, bytes: MOST_BYTES });
  }
  return String(word) === 'changed' ? undefined : findingsIn((findings as readonly Buffer[]).map(String));
}

/** Queues that have jobs. The list of their names may have been removed by hand, and then all jobs would seem to be gone. */
async function unnamedQueues({ caller, keys }: RedisStore): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const [type, name] of [
    ['list', /^(.*)$/s],
    ['zset', /^(.*):(?:delayed|reserved)$/s],
  ] as const) {
    let cursor = '0';
    do {
      const page = ['MATCH', `${escaped(keys.prefix)}*`, 'COUNT', SCANNED, 'TYPE', type];
      const [next, names] = (await caller.command('scan', [cursor, ...page], { consequence: CONSEQUENCE })) as [
        Buffer,
        readonly Buffer[],
      ];
      for (const key of names) {
        const [, queue] = name.exec(key.toString().slice(keys.prefix.length)) ?? [];
        if (queue !== undefined) found.add(queue);
      }
      cursor = String(next);
    } while (cursor !== '0');
  }
  return [...found];
}

/** Escapes a prefix for a pattern of Redis. */
const escaped = (prefix: string): string => prefix.replaceAll(/[*?[\]\\]/g, '\\$&');

function findingsIn(facts: readonly string[]): readonly Finding[] {
  const findings: Finding[] = [];
  for (let at = 0; at < facts.length;) {
    const [kind, first = '', second = '', third = ''] = facts.slice(at, at + 4);
    if (kind === 'miscounted') findings.push({ kind, batch: first, pending: Number(second), found: Number(third) });
    else findings.push({ kind: kind as 'stuck' | 'unheld', key: first, holder: second });
    at += kind === 'miscounted' ? 4 : 3;
  }
  return findings;
}
