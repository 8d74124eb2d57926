/** Finds Redis settings that can lose jobs, for `onqueue check`. */
import type { Diagnosis } from '../contract';
import { latencyOf } from '../kit/requirements';
import type { RedisCaller } from './caller';
import type { Keys } from './keys';
import { missingPermissions, WAKING } from './permissions';
import { serverVersion } from './server-version';

/** @param isCluster if true, version, settings and latency are those of one node */
export async function diagnoseRedis(
  caller: RedisCaller,
  keys: Keys,
  isCluster: boolean,
): Promise<readonly Diagnosis[]> {
  const consequence = 'its settings were not read';
  const info = fieldsOf(String(await caller.command('info', [], { consequence })));
  const ask = (): Promise<unknown> => caller.command('ping', [], { consequence });
  const latency = await latencyOf(caller.settings.clock, 'at least one', ask);
  const found = isCluster ? [await slots(caller)] : [];
  // A cluster that is down runs no scripts.
  if (found.every(({ level }) => level !== 'error')) {
    const { ready } = keys.queue('default');
    found.push(permitted(await missingPermissions(caller, ready)));
    if ((await missingPermissions(caller, ready, WAKING)).length > 0) found.push(unwoken(keys.prefix));
  }
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
    const [, save] = (await caller.command('config', ['get', 'save'], {
      consequence: 'its settings were not read',
    })) as readonly Buffer[];
    return save?.toString();
  } catch {
    return undefined;
  }
}

function permitted(missing: readonly string[]): Diagnosis {
  const subject = 'permissions';
  if (missing.length === 0) return { level: 'ok', subject, message: 'all that is needed' };
  const rules = missing.map((name) => `+${name}`).join(' ');
  return {
    level: 'error',
    subject,
    message: `this user may not call ${missing.join(', ')}. Allow it: ACL SETUSER <user> ${rules}`,
  };
}

function unwoken(prefix: string): Diagnosis {
  const rules = [`&${prefix}*`, ...WAKING.map((name) => `+${name}`)].join(' ');
  return {
    level: 'warning',
    subject: 'channels',
    message: `this user may not use them, so results that are waited for are seen up to a second late. Allow it: ACL SETUSER <user> ${rules}`,
  };
}

type SlotRange = readonly [first: number, last: number, ...nodes: unknown[]];

async function slots(caller: RedisCaller): Promise<Diagnosis> {
  const subject = 'cluster';
  const consequence = 'its slots were not read';
  const info = fieldsOf(String(await caller.command('cluster', ['info'], { consequence })));
  if (info.get('cluster_state') !== 'ok') {
    const message = `it is down: ${info.get('cluster_slots_ok')} of 16384 slots are served. Look at CLUSTER NODES.`;
    return { level: 'error', subject, message };
  }
  const ranges = (await caller.command('cluster', ['slots'], { consequence })) as readonly SlotRange[];
  const masters = new Map(ranges.map(([, , master, ...replicas]) => [String(master), replicas.length]));
  const bare = [...masters.values()].filter((replicas) => replicas === 0).length;
  if (bare === 0) return { level: 'ok', subject, message: `${masters.size} masters, each with a replica` };
  return {
    level: 'warning',
    subject,
    message: `${bare} of ${masters.size} masters have no replica: if one of them fails, its queues are away until it is back.`,
  };
}
