/**
 * What is wrong with a Redis: settings that can lose jobs, for `onqueue check`; unique keys, batches and lanes that the texts of the jobs
 * contradict, for `onqueue recount`.
 */
import { WAITING_STATES, type Diagnosis, type Finding, type RecountOptions } from '../contract';
import { latencyOf } from '../kit/requirements';
import { closedKey, missingPermissions, WAKING, type RedisCaller } from './caller';
import { serverVersion } from './client';
import { SHARED, type Keys } from './keys';
import { tooMuchToRecount } from './refusals';
import type { RedisStore } from './store';

/** In a cluster, version, settings and latency are those of one node. */
export async function diagnose({ caller, keys, cluster }: RedisStore): Promise<readonly Diagnosis[]> {
  const consequence = 'its settings were not read';
  const info = fieldsOf(String(await caller.command('info', [], consequence)));
  const ask = (): Promise<unknown> => caller.command('ping', [], consequence);
  const latency = await latencyOf(caller.settings.clock, 'at least one', ask);
  const found = cluster !== undefined ? [await slots(caller)] : [];
  // A cluster that is down runs no scripts, and the queue may be on a master that is away.
  if (found.every(({ level }) => level !== 'error')) found.push(...(await permissions(caller, keys)));
  return [version(info), eviction(info), persistence(info, await snapshots(caller)), latency, ...found];
}

type Info = ReadonlyMap<string, string>;

function fieldsOf(info: string): Info {
  const lines = info.split('\r\n').filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

// A server that is too old fails earlier.
function version(info: Info): Diagnosis {
  return { level: 'ok', subject: 'version', message: serverVersion((name) => info.get(name)).found };
}

function eviction(info: Info): Diagnosis {
  const subject = 'maxmemory-policy';
  const policy = info.get('maxmemory_policy');
  if (policy === 'noeviction') return { level: 'ok', subject, message: policy };
  const limited = info.get('maxmemory') !== '0';
  return {
    level: limited ? 'error' : 'warning',
    subject,
    message:
      `${policy}: Redis ${limited ? 'throws' : 'would throw'} whole queues away when its memory is full. ` +
      'Set maxmemory-policy noeviction; a full Redis then refuses new jobs and keeps the ones it has.',
    endangersJobs: true,
  };
}

function persistence(info: Info, save: string | undefined): Diagnosis {
  const subject = 'persistence';
  // A Redis that refuses writes meanwhile, as by default, says so itself.
  if (info.get('rdb_last_bgsave_status') === 'err') {
    const message = 'Redis could not save its last snapshot. See its log, and whether its disk is full.';
    return { level: 'warning', subject, message, endangersJobs: true };
  }
  if (info.get('aof_enabled') === '1') return { level: 'ok', subject, message: 'append-only file' };
  const risk =
    save === ''
      ? 'none: a restart of Redis loses all jobs.'
      : 'snapshots only: a crash of Redis loses the jobs since the last one.';
  return { level: 'warning', subject, message: `${risk} Set appendonly yes.`, endangersJobs: true };
}

/** The value of `save`. Undefined if CONFIG is not allowed, as on many hosted servers. */
async function snapshots(caller: RedisCaller): Promise<string | undefined> {
  try {
    const answer = await caller.command('config', ['get', 'save'], 'its settings were not read');
    const [, save] = answer as readonly Buffer[];
    return save?.toString();
  } catch {
    return undefined;
  }
}

async function permissions(caller: RedisCaller, keys: Keys): Promise<readonly Diagnosis[]> {
  const { ready } = keys.queue('default');
  const closed = await closedKey(caller, [ready, keys.names]);
  if (closed !== undefined) return [lacking(`use the key ${closed}`, `~${keys.prefix}*`)];
  const missing = await missingPermissions(caller, ready);
  const isWoken = (await missingPermissions(caller, ready, WAKING)).length === 0;
  const ok: Diagnosis = { level: 'ok', subject: 'permissions', message: 'all that is needed' };
  const named =
    missing.length === 0 ? ok : lacking(`call ${missing.join(', ')}`, missing.map((name) => `+${name}`).join(' '));
  return isWoken ? [named] : [named, unwoken(keys.prefix)];
}

function lacking(right: string, rules: string): Diagnosis {
  const message = `this user may not ${right}. Allow it: ACL SETUSER <user> ${rules}`;
  return { level: 'error', subject: 'permissions', message };
}

function unwoken(prefix: string): Diagnosis {
  const rules = [`&${prefix}*`, ...WAKING.map((name) => `+${name}`)].join(' ');
  return {
    level: 'warning',
    subject: 'channels',
    message: `this user may not use them, so results that are waited for are seen up to a second late. Allow it: ACL SETUSER <user> ${rules}`,
  };
}

const SLOTS = '16384';

type SlotRange = readonly [first: number, last: number, ...nodes: unknown[]];

async function slots(caller: RedisCaller): Promise<Diagnosis> {
  const subject = 'cluster';
  const consequence = 'its slots were not read';
  const info = fieldsOf(String(await caller.command('cluster', ['info'], consequence)));
  const isUp = info.get('cluster_state') === 'ok';
  const served = info.get('cluster_slots_ok');
  if (!isUp || served !== SLOTS) {
    const message = `${isUp ? 'a part of it' : 'it'} is down: ${served} of ${SLOTS} slots are served. Look at CLUSTER NODES.`;
    return { level: 'error', subject, message };
  }
  const ranges = (await caller.command('cluster', ['slots'], consequence)) as readonly SlotRange[];
  const masters = new Map(ranges.map(([, , master, ...replicas]) => [String(master), replicas.length]));
  const bare = [...masters.values()].filter((replicas) => replicas === 0).length;
  if (bare === 0) return { level: 'ok', subject, message: `${masters.size} masters, each with a replica` };
  return {
    level: 'warning',
    subject,
    message: `${bare} of ${masters.size} masters have no replica: if one of them fails, its queues are away until it is back.`,
  };
}

const MOST_JOBS = 100_000;
const MOST_BYTES = 128 * 1024 * 1024;

const SCANNED = 1000;
const NOT_RECOUNTED = 'nothing was recounted';

/**
 * Compares the unique keys, batches and lanes of a Redis with the texts of all jobs.
 *
 * One script looks at all of them, because jobs move and a page-by-page reader would miss some; a key freed by mistake would
 * let a second job in. So their number is limited such that Redis is busy for less than a second.
 */
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
  const names = ['unique', 'batches', 'cancelledBatches', 'lanes', 'held'] as const;
  const args = [...how, MOST_JOBS, MOST_BYTES];
  const others = [store.cluster === undefined ? store.keys.names : store.keys.queue(owner).unique, ...texts];
  const [word, findings] = await store.recorded.ask('recount', owner, names, args, NOT_RECOUNTED, others);
  if (String(word) === 'unseen') {
    const { name: connection, address } = store.caller.settings;
    throw tooMuchToRecount({ connection, address, jobs: MOST_JOBS, bytes: MOST_BYTES });
  }
  if (String(word) === 'changed') return undefined;
  return findingsIn((findings as readonly Buffer[]).map(String), (ready) => store.keys.queueOf(ready));
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
      const answer = await caller.command('scan', [cursor, ...page], NOT_RECOUNTED);
      const [next, names] = answer as [Buffer, readonly Buffer[]];
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

function findingsIn(facts: readonly string[], queueOf: (ready: string) => string): readonly Finding[] {
  const findings: Finding[] = [];
  for (let at = 0; at < facts.length;) {
    const [kind, first = '', second = '', third = '', fourth = ''] = facts.slice(at, at + 5);
    if (kind === 'miscounted') findings.push({ kind, batch: first, pending: Number(second), found: Number(third) });
    else if (kind === 'crowded')
      findings.push({ kind, queue: queueOf(first), lane: second, inside: Number(third), found: Number(fourth) });
    else findings.push({ kind: kind as 'stuck' | 'unheld', key: first, holder: second });
    at += kind === 'crowded' ? 5 : kind === 'miscounted' ? 4 : 3;
  }
  return findings;
}
