/** Makes clients of ioredis, always with the options that the queue depends on: from an address, or from a user's client. */
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
import { OldServer, serverVersion } from './server-version';

export type Client = Redis | Cluster;

type Connector = NonNullable<RedisOptions['Connector']>;
type Connect = AbstractConnector['connect'];

interface Connecting extends AbstractConnector {
  connect(...given: Parameters<Connect>): ReturnType<Connect>;
  check(info: Readonly<Record<string, string>>): boolean;
}

/** Our options name the mapping of replies: by it ioredis types them. */
type Options = Omit<RedisOptions, 'replyMapping'> & { readonly replyMapping: 'legacy' };

/** Milliseconds until the next attempt to connect; null: no further one. `reason`: why the last one failed, if told. */
export type Retry = (reason?: Error) => number | null;

export interface ClientSource {
  /** A client that is not connected, whose duplicates are. */
  readonly template: Client;
  /** For people: without a password. */
  readonly address: string;
  readonly cluster: boolean;
  /** What the user's client puts before every key. Ours do not: it becomes a part of our names. */
  readonly keyPrefix: string;
  /** A client of its own, which connects with its first command. */
  open(retry: Retry): Client;
}

/** A host that drops packets must not use up the deadline of a dispatch. */
const CONNECT_TIMEOUT = 2000;
/** A silent server does not close its end of a connection: after so many milliseconds ours is torn down. */
const DISCONNECT_TIMEOUT = 500;
/** How long one sentinel, or one node of a cluster, is asked for the others: a silent one must leave time for them. */
const NODE_TIMEOUT = 750;
/** Between two looks at whether a server has read its data; otherwise as long as it thinks that it takes. */
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
        // It asks one node, which may be silent; a cluster that is down says so to the call itself.
        enableReadyCheck: false,
        slotsRefreshTimeout: NODE_TIMEOUT,
        enableAutoPipelining: false,
        scaleReads: 'master',
        keyPrefix: '',
        clusterRetryStrategy: (_attempt: number, reason?: Error) => retry(reason),
        // Its caller waits, and knows then that nothing was carried out.
        retryDelayOnClusterDown: 0,
        // One name that is not known would keep all nodes from being asked; and certificates are made out to names.
        ...(dnsLookup === lookup && { dnsLookup: keepName }),
        redisOptions: ours(redisOptions ?? {}, retry),
      }),
  };
}

/** A client that never connects: ioredis alone reads addresses, and the ones that do connect are its duplicates. */
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
  // Otherwise ioredis would leave them as they are, and speak to the master in clear text.
  if (sentinels !== undefined && options.tls !== undefined) {
    options.enableTLSForSentinelMode ??= true;
    options.sentinelTLS ??= options.tls;
  }
  return url === undefined ? new Redis({ host: '127.0.0.1', ...options }) : new Redis(url, options);
}

/** What one address says of credentials and TLS holds for all nodes: most of them are only heard of. */
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

/** What the queue depends on, whatever the user's client or options say. */
function ours(options: RedisOptions, retry: Retry): Options {
  return {
    Connector: heardConnector(options),
    lazyConnect: true,
    // Calls have deadlines of our own; a client that gives up by itself would reject them for another reason.
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
    enableReadyCheck: true,
    maxLoadingRetryTime: LOADING_PAUSE,
    // We send them again ourselves: only so is it known that they were sent before.
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    retryStrategy: () => retry(),
    // With nothing to ask for, it must not go on for ever.
    sentinelRetryStrategy: () => retry(),
    sentinelCommandTimeout: NODE_TIMEOUT,
    // It would cut off what was sent along; the link replaces the client of a server that is no master any more.
    reconnectOnError: null,
    disconnectTimeout: DISCONNECT_TIMEOUT,
    // They would reject a blocking read, or settle it with an answer that Redis never gave.
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
  const place = path === null || path === undefined ? `${scheme}://${host}:${port}` : `unix:${path}`;
  return `${place}/${db ?? 0}`;
}

function nodeText(node: string | number | RedisNode): string {
  if (typeof node === 'object') return `${node.host}:${node.port ?? 6379}`;
  // An address in words may hold a password.
  return String(node).replace(/\/\/[^@/]*@/, '//');
}

/**
 * The connector that the options ask for, with sockets that end no process, and none to a server that is too old.
 *
 * ioredis listens for one error of a socket. One over TLS that is ended while it shakes hands has two, and the second,
 * which nobody hears, would be an uncaught exception.
 */
function heardConnector(options: RedisOptions): Connector {
  // ioredis does not export its own; an instance has one. It connects to nothing.
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

    // ioredis asks for it with each connection, before it sends what waits: a script might be carried out in part.
    override check(info: Readonly<Record<string, string>>): boolean {
      const { found, isOld } = serverVersion((name) => info[name]);
      if (isOld) this.#socket?.destroy(new OldServer(found));
      return !isOld && super.check(info);
    }
  };
}
