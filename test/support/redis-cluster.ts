/** Starts a Redis Cluster for one test: masters that share the slots, each with a replica that can take over. */
import Redis from 'ioredis';
import { eventually } from './eventually';
import { freePort, type RedisServer, startRedisServer } from './redis-server';

const SLOTS = 16_384;

/** Milliseconds until the other nodes consider a node dead. */
const NODE_TIMEOUT = 1000;

export class RedisCluster {
  /** In the order of their slots. */
  readonly masters: readonly RedisServer[];
  readonly replicas: readonly RedisServer[];

  private constructor(masters: readonly RedisServer[], replicas: readonly RedisServer[]) {
    this.masters = masters;
    this.replicas = replicas;
  }

  /** @param args more arguments for each `redis-server` */
  static async start({ size = 3, args = [] }: { size?: number; args?: readonly string[] } = {}): Promise<RedisCluster> {
    const buses = new Map<number, number>();
    const startNode = async (): Promise<RedisServer> => {
      const bus = await freePort();
      const node = await startRedisServer({ args: [...clusterArguments(bus), ...args] });
      buses.set(node.port, bus);
      return node;
    };
    const nodes: RedisServer[] = [];
    try {
      // One after another, because two that look for a free port at once may find the same one.
      for (let count = 0; count < 2 * size; count += 1) nodes.push(await startNode());
      const cluster = new RedisCluster(nodes.slice(0, size), nodes.slice(size));
      await cluster.#form(buses);
      return cluster;
    } catch (error) {
      await Promise.all(nodes.map((node) => node.stop()));
      throw error;
    }
  }

  get nodes(): readonly RedisServer[] {
    return [...this.masters, ...this.replicas];
  }

  get urls(): readonly string[] {
    return this.nodes.map(({ url }) => url);
  }

  /** The master of the key's slot, according to the node that is asked. */
  async masterOf(key: string, asked: RedisServer = this.masters[0]!): Promise<RedisServer> {
    const slot = Number(await this.call(asked, 'cluster', 'keyslot', key));
    const ranges = (await this.call(asked, 'cluster', 'slots')) as [number, number, [string, number]][];
    const port = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][1];
    return this.nodes.find((node) => node.port === port)!;
  }

  /** The replica that takes over from the given master. */
  replicaOf(master: RedisServer): RedisServer {
    return this.replicas[this.masters.indexOf(master)]!;
  }

  /** Begins to move the slot of the key to another master. Until `moveSlot` ends it, no call with several new keys is served. */
  async beginMove(key: string, to: RedisServer): Promise<{ from: RedisServer; slot: number; target: string }> {
    const from = await this.masterOf(key);
    const slot = Number(await this.call(from, 'cluster', 'keyslot', key));
    const [source, target] = [await this.#idOf(from), await this.#idOf(to)];
    await this.call(to, 'cluster', 'setslot', slot, 'importing', source);
    await this.call(from, 'cluster', 'setslot', slot, 'migrating', target);
    return { from, slot, target };
  }

  /** Moves the slot of the key to another master, like `redis-cli --cluster reshard`. */
  async moveSlot(key: string, to: RedisServer): Promise<void> {
    const { from, slot, target } = await this.beginMove(key, to);
    for (;;) {
      const keys = (await this.call(from, 'cluster', 'getkeysinslot', slot, 10)) as string[];
      if (keys.length === 0) break;
      await this.call(from, 'migrate', '127.0.0.1', to.port, '', 0, 5000, 'keys', ...keys);
    }
    for (const node of [to, from]) await this.call(node, 'cluster', 'setslot', slot, 'node', target);
  }

  async #idOf(node: RedisServer): Promise<string> {
    return String(await this.call(node, 'cluster', 'myid'));
  }

  async call({ url }: RedisServer, command: string, ...args: (string | number)[]): Promise<unknown> {
    const client = new Redis(url, { protocol: 2, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    client.on('error', () => undefined);
    try {
      return await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  }

  /** Resolves once all replicas have caught up with their masters. */
  async replicated(): Promise<void> {
    const offsetOf = async (node: RedisServer): Promise<string | undefined> =>
      /master_repl_offset:(\d+)/.exec(String(await this.call(node, 'info', 'replication')))?.[1];
    for (const [at, master] of this.masters.entries()) {
      await eventually(async () => (await offsetOf(master)) === (await offsetOf(this.replicas[at]!)));
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async #form(buses: ReadonlyMap<number, number>): Promise<void> {
    const [first, ...others] = this.nodes;
    for (const [at, master] of this.masters.entries()) {
      const share = SLOTS / this.masters.length;
      await this.call(master, 'cluster', 'addslotsrange', Math.floor(at * share), Math.floor((at + 1) * share) - 1);
    }
    for (const { port } of others) await this.call(first!, 'cluster', 'meet', '127.0.0.1', port, buses.get(port)!);
    const ids = new Map<RedisServer, string>();
    for (const master of this.masters) ids.set(master, await this.#idOf(master));
    for (const [at, replica] of this.replicas.entries()) {
      // A replica refuses a master that it has not heard of yet.
      const id = ids.get(this.masters[at]!)!;
      await eventually(() => this.call(replica, 'cluster', 'replicate', id), { of: 'a replica that knows its master' });
    }
    for (const node of this.nodes) {
      await eventually(
        async () => {
          const info = String(await this.call(node, 'cluster', 'info'));
          const isUp = this.replicas.includes(node)
            ? String(await this.call(node, 'info', 'replication')).includes('master_link_status:up')
            : true;
          return isUp && info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${this.nodes.length}`);
        },
        { of: 'a cluster that has come together' },
      );
    }
  }
}

function clusterArguments(bus: number): readonly string[] {
  return [
    ...['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-announce-ip', '127.0.0.1'],
    ...['--cluster-node-timeout', String(NODE_TIMEOUT), '--repl-diskless-sync-delay', '0'],
  ];
}
