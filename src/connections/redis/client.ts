/**
 * Creates ioredis clients from an address, from a user's client, or from the options of another thread, always with the options
 * that the queue depends on. They refuse a server that is too old.
 */
import { lookup } from 'node:dns';
import type { Socket } from 'node:net';
import Redis, {
  type AbstractConnector,
  Cluster,
  type ClusterNode,
  type ClusterOptions,
  type RedisOptions,
} from 'ioredis';
import type { RedisConfig, RedisNode } from './driver';
import { bracketed, isOlder } from '../kit/requirements';

export type Client = Redis | Cluster;

type Connector = NonNullable<RedisOptions['Connector']>;
type Connect = AbstractConnector['connect'];

interface Connecting extends AbstractConnector {
  connect(...given: Parameters<Connect>): ReturnType<Connect>;
  check(info: Readonly<Record<string, string>>): boolean;
}

/** Our options set `replyMapping`, because ioredis types replies by it. */
type Options = Omit<RedisOptions, 'replyMapping'> & { readonly replyMapping: 'legacy' };

/** Milliseconds until the next attempt to connect; null: no further attempt. `reason`: why the last one failed, if known. */
export type Retry = (reason?: Error) => number | null;

export interface ClientSource {
  /** An unconnected client; the clients that we use are duplicates of it. */
  readonly template: Client;
  /** For display: without a password. */
  readonly address: string;
  readonly cluster: boolean;
  /** The prefix that the user's client puts before every key. Our clients put none: it becomes part of our key names. */
  readonly keyPrefix: string;
  /** Opens a new client, which connects with its first command. */
  open(retry: Retry): Client;
}

/** In milliseconds. A host that drops packets must not use up the deadline of a dispatch. */
const CONNECT_TIMEOUT = 2000;
/** A silent server does not close its end of a connection: after this many milliseconds we destroy ours. */
const DISCONNECT_TIMEOUT = 500;
/**
 * Milliseconds to wait for one sentinel or one cluster node when asking for the others: a silent one must leave time for
 * them.
 */
const NODE_TIMEOUT = 750;
/** Longest pause, in milliseconds, between two checks whether a server has finished loading its data. */
const LOADING_PAUSE = 500;

export function clientSource(config: RedisConfig): ClientSource {
  const template = config.client === undefined ? templateOf(config) : (config.client as unknown as Client);
  return template.isCluster ? sourceOfCluster(template as Cluster) : sourceOfSingle(template as Redis);
}

function sourceOfSingle(template: Redis): ClientSource {
  const { options } = template;
  return {
    template,
    address: addressOf(options),
    cluster: false,
    keyPrefix: options.keyPrefix ?? '',
    open: (retry) => template.duplicate(ours(options, retry)),
  };
}

function sourceOfCluster(template: Cluster): ClientSource {
  const { keyPrefix, redisOptions, dnsLookup } = template.options as ClusterOptions;
  const { startupNodes } = template as unknown as { readonly startupNodes: readonly (string | number | RedisNode)[] };
  return {
    template,
    address: `cluster ${startupNodes.map(nodeText).join(', ')}`,
    cluster: true,
    keyPrefix: keyPrefix ?? redisOptions?.keyPrefix ?? '',
    open: (retry) =>
      template.duplicate([], {
        lazyConnect: true,
        enableOfflineQueue: true,
        // The check asks one node, which may be silent. A cluster that is down says so in reply to the call itself.
        enableReadyCheck: false,
        slotsRefreshTimeout: NODE_TIMEOUT,
        enableAutoPipelining: false,
        scaleReads: 'master',
        keyPrefix: '',
        clusterRetryStrategy: (_attempt: number, reason?: Error) => retry(reason),
        // Our caller retries, and knows then whether something may have been carried out.
        retryDelayOnClusterDown: 0,
        retryDelayOnFailover: 0,
        maxRedirections: 5,
        // With ioredis' own lookup, one unknown name would keep all nodes from being asked. Besides, certificates are made
        // out to names.
        ...(dnsLookup === lookup && { dnsLookup: keepName }),
        redisOptions: ours(redisOptions ?? {}, retry),
      }),
  };
}

/** A client that never connects. It only lets ioredis parse the address; we connect its duplicates. */
function templateOf(config: RedisConfig): Client {
  const { url, host, port, path, username, password, db, tls, sentinels, name, sentinelPassword, cluster } = config;
  const written = { host, port, path, username, password, db, sentinels, name, sentinelPassword };
  const options: Options = {
    connectTimeout: CONNECT_TIMEOUT,
    ...config.options,
    ...Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined)),
    lazyConnect: true,
    replyMapping: 'legacy',
  };
  if (tls !== undefined && tls !== false) options.tls = tls === true ? {} : tls;
  if (cluster !== undefined) return clusterTemplate(cluster, options);
  // Otherwise ioredis would not apply TLS to sentinels, and would speak to the master in clear text.
  if (sentinels !== undefined && options.tls !== undefined) {
    options.enableTLSForSentinelMode ??= true;
    options.sentinelTLS ??= options.tls;
  }
  return url === undefined ? new Redis({ host: '127.0.0.1', ...options }) : new Redis(url, options);
}

/** Credentials and TLS from one address apply to all nodes, because most nodes are only discovered. */
function clusterTemplate(nodes: readonly (string | RedisNode)[], options: Options): Cluster {
  const address = nodes.find((node) => typeof node === 'string') ?? '';
  const { username, password, tls } = new Redis(address, options).options;
  return new Cluster([...nodes] as ClusterNode[], {
    ...(options as ClusterOptions),
    lazyConnect: true,
    redisOptions: { ...options, username, password, tls },
  });
}

function keepName(host: string, callback: (error: null, address: string, family?: number) => void): void {
  callback(null, host);
}

/** The options that the queue depends on, whatever the user's client or options say. */
function ours(options: RedisOptions, retry: Retry): Options {
  return {
    Connector: heardConnector(options),
    lazyConnect: true,
    // Calls have our own deadlines; a client that gave up by itself would reject them for another reason.
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
    enableReadyCheck: true,
    maxLoadingRetryTime: LOADING_PAUSE,
    // We resend commands ourselves, because only then do we know that they were sent before.
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    retryStrategy: () => retry(),
    // Without a call to serve, it must not retry forever.
    sentinelRetryStrategy: () => retry(),
    sentinelCommandTimeout: NODE_TIMEOUT,
    // It would cut off calls already sent. The link itself replaces the client of a server that is no longer a master.
    reconnectOnError: null,
    disconnectTimeout: DISCONNECT_TIMEOUT,
    // These would reject a blocking read, or settle it with an answer that Redis never gave.
    commandTimeout: undefined as never,
    socketTimeout: undefined as never,
    blockingTimeout: undefined as never,
    enableAutoPipelining: false,
    keyPrefix: '',
    readOnly: false,
    monitor: false,
    stringNumbers: false,
    protocol: 2,
    replyMapping: 'legacy',
    disableClientInfo: true,
    scripts: undefined as never,
  };
}

function addressOf({ sentinels, name, path, tls, host, port, db }: RedisOptions): string {
  if (sentinels !== null && sentinels !== undefined) {
    return `${name} of the sentinels ${sentinels.map((node) => nodeText(node as RedisNode)).join(', ')}`;
  }
  const scheme = tls === undefined || tls === null ? 'redis' : 'rediss';
  const place = path === null || path === undefined ? `${scheme}://${bracketed(host ?? '')}:${port}` : `unix:${path}`;
  return `${place}/${db ?? 0}`;
}

function nodeText(node: string | number | RedisNode): string {
  if (typeof node === 'object') return `${bracketed(node.host)}:${node.port ?? 6379}`;
  // An address given as text may contain a password.
  return String(node).replace(/\/\/[^@/]*@/, '//');
}

/**
 * The connector that the options ask for, with two changes: its sockets cannot end the process, and it refuses servers that
 * are too old.
 *
 * ioredis listens for only one error of a socket. A TLS socket that is ended during its handshake emits two, and the second
 * one, unheard, would be an uncaught exception.
 */
function heardConnector(options: RedisOptions): Connector {
  // ioredis does not export its connectors, so we take the class from an instance, which never connects.
  const { connector } = new Redis({ ...options, replyMapping: 'legacy', lazyConnect: true }) as unknown as {
    readonly connector: { readonly constructor: new (options: unknown) => Connecting };
  };
  return class extends connector.constructor {
    #socket: Socket | undefined;

    override async connect(...given: Parameters<Connect>): ReturnType<Connect> {
      const stream = await super.connect(...given);
      stream.on('error', () => undefined);
      this.#socket = stream as Socket;
      return stream;
    }

    // ioredis calls this on each connection, before it sends waiting commands. Otherwise an old server might carry out part
    // of a script.
    override check(info: Readonly<Record<string, string>>): boolean {
      const { found, isOld } = serverVersion((name) => info[name]);
      if (isOld) this.#socket?.destroy(new OldServer(found));
      return !isOld && super.check(info);
    }
  };
}

/** It has the commands that the scripts call. */
export const NEEDED_VERSION = '6.2';

export interface ServerVersion {
  /** For display: `Redis 7.0.15`. */
  readonly found: string;
  readonly isOld: boolean;
}

/** Reads INFO. @param field returns a field of it. A server without a version counts as new enough. */
export function serverVersion(field: (name: string) => string | undefined): ServerVersion {
  const valkey = field('valkey_version');
  const version = field('redis_version') ?? '';
  return {
    found: valkey === undefined ? `Redis ${version}` : `Valkey ${valkey}`,
    isOld: isOlder(version, NEEDED_VERSION),
  };
}

/** Ends a connection to a server that is too old, before anything is asked of it. */
export class OldServer extends Error {
  readonly found: string;

  constructor(found: string) {
    super(`it is ${found}`);
    this.found = found;
  }
}

/** What another thread needs to reach the same Redis: a client's options without functions; for a cluster also its nodes. */
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
