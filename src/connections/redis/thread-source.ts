/** What another thread needs to reach the same Redis: the options of a client, without what works only in this thread. */
import { lookup } from 'node:dns';
import Redis, { Cluster, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { RedisNode } from './driver';
import { type Client, type ClientSource, clientSource } from './client';

/** A client's options without functions; for a cluster also its nodes. */
export interface ThreadOptions {
  readonly nodes?: readonly (string | number | RedisNode)[] | undefined;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Functions that decide when to retry: the other thread has its own. Any other function decides where or how to connect. */
const STRATEGIES = new Set([
  'retryStrategy',
  'reconnectOnError',
  'sentinelRetryStrategy',
  'sentinelReconnectStrategy',
  'clusterRetryStrategy',
]);

/** Undefined if the options contain another function, or an object that cannot be cloned, such as an agent. */
export function threadOptions(template: Client): ThreadOptions | undefined {
  const given: RedisOptions | ClusterOptions = template.options;
  const { startupNodes: nodes } = template as { readonly startupNodes?: ThreadOptions['nodes'] };
  const options = Object.entries(given).filter(
    ([name, value]) => !STRATEGIES.has(name) && !isDefault(name, value, given),
  );
  try {
    return structuredClone({ nodes, options: Object.fromEntries(options) });
  } catch {
    return undefined;
  }
}

/** The client source that these options came from. */
export function sourceOfThread({ nodes, options }: ThreadOptions): ClientSource {
  const lazy = { ...options, lazyConnect: true, replyMapping: 'legacy' } as const;
  const template = nodes === undefined ? new Redis(lazy) : new Cluster([...nodes] as ClusterNode[], lazy);
  return clientSource({ driver: 'redis', client: template });
}

/** Whether ioredis itself put this function into the options of a cluster. */
function isDefault(name: string, value: unknown, given: object): boolean {
  if (name === 'dnsLookup') return value === lookup;
  return name === 'resolveSrv' && !('useSRVRecords' in given && given.useSRVRecords === true);
}
