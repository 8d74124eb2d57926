/**
 * One client that can be replaced: an unanswered call costs its socket, not the worker.
 *
 * While nothing is asked of it, the link neither keeps the process alive nor reconnects.
 */
import type { Socket } from 'node:net';
import { Command, type Cluster, type Redis } from 'ioredis';
import { pauseAfter, endOfTurn, type Timer } from '../../base/clock';
import { inRootContext } from '../application';
import { isReadOnly, isRefusedForGood, isRefusedSelect, isReply, loadingError } from './refusals';
import type { Client, ClientSource } from './client';
import type { Script } from './scripts';

export type Argument = string | Buffer | number;

/** A call as it is sent; a script by its hash. */
export type Form = readonly [command: string, args: readonly Argument[], head?: CallHead | undefined];

/** The beginning of all calls of one script with the same keys: put into text once. */
export class CallHead {
  readonly script: Script;
  readonly keys: readonly string[];
  /** How many arguments it stands for. */
  readonly count: number;
  readonly text: string;

  constructor(script: Script, keys: readonly string[]) {
    const words = ['evalsha', script.sha, String(keys.length), ...keys];
    this.script = script;
    this.keys = keys;
    this.count = words.length - 1;
    this.text = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('');
  }
}

const BACKOFF = { first: 50, longest: 1000 };

export class RedisLink {
  readonly #source: ClientSource;
  /**
   * Calls whose answer is awaited. A list, because they are few and a `Set` would keep removed ones alive until a full
   * collection.
   */
  #calls: LinkCall[] = [];
  #client: Client | undefined;
  /** Attempts to connect since the server last answered: a server that takes connections and ends them is away as well. */
  #attempts = 0;
  #sent = 0;
  #answers = 0;
  /** How many calls had been made when a connection to a cluster node was made or given up. */
  readonly #nodes = new WeakMap<Redis, number>();
  #failure: Error | undefined;
  /** The last error of one cluster node or one sentinel: others may serve us. */
  #remark: Error | undefined;
  isClosed = false;
  /** Called when a connection ends: the next one may lead to another server. */
  disconnected: () => void = () => undefined;

  constructor(source: ClientSource) {
    this.#source = source;
  }

  /** Why there is no connection, as far as is known. */
  get failure(): Error | undefined {
    return this.#failure ?? this.#remark;
  }

  /** Asking again is useless until somebody fixes the configuration. */
  get refused(): boolean {
    return this.isClosed || (this.#failure !== undefined && isRefusedForGood(this.#failure));
  }

  /**
   * Sends a command, connecting first if necessary. Arguments and replies are bytes.
   *
   * @param isMissed whether anybody waits for the answer: then the connection keeps the process alive and is restored
   */
  send([command, args, head]: Form, isMissed = true): LinkCall {
    const client = this.#client !== undefined && this.#client.status !== 'end' ? this.#client : this.#opened();
    const call = new LinkCall(command, args, head, client, (this.#sent += 1), this.#answers, this.#ended);
    if (isMissed) {
      this.#calls.push(call);
      if (this.#calls.length === 1) holdSockets(client, true);
    }
    call.reply.catch((error: unknown) => this.#ended(call, error));
    // The first command connects.
    if (client.status === 'wait') inRootContext(() => void client.connect().catch(() => undefined));
    try {
      void client.sendCommand(call);
    } catch (error) {
      call.lose(error as Error);
    }
    return call;
  }

  readonly #ended = (call: LinkCall, error?: unknown): void => {
    call.timer?.cancel();
    if (error === undefined) {
      this.#answers += 1;
      this.#remark = undefined;
    } else if (isReadOnly(error)) this.#retire(call.client, error as Error);
    if (error === undefined || isReply(error)) this.#attempts = 0;
    const place = this.#calls.indexOf(call);
    if (place >= 0) this.#calls.splice(place, 1);
    if (this.#calls.length === 0 && this.#client === call.client) holdSockets(call.client, false);
  };

  /**
   * Until the function that it returns is called, what is sent is not written: then all at once, because each write wakes the
   * server, which takes longer than copying the text.
   */
  cork(): (() => void) | undefined {
    const stream =
      this.#client?.isCluster === false ? ((this.#client as Redis).stream as Socket | undefined) : undefined;
    stream?.cork();
    return stream && (() => stream.uncork());
  }

  /**
   * Gives up the connection on which a call got no answer: the whole client or, if it has answered others meanwhile, as in a
   * cluster, only the connection to the silent node.
   */
  giveUp(call: LinkCall): void {
    const { client, number, answers } = call;
    const place = this.nodeOf(call);
    if (place === undefined || answers === this.#answers) return this.replace(client);
    this.#lose(client, (one) => one === call);
    const cluster = client as Cluster;
    const node = cluster.nodes().find(({ options: { host, port } }) => `${host}:${port}` === place);
    // A connection younger than the call replaced one that another call gave up; one that was given up is ending already.
    if (node !== undefined && this.#nodes.get(node)! < number) {
      this.#nodes.set(node, this.#sent);
      node.disconnect();
    }
    // Another node may have replaced it.
    cluster.refreshSlotsCache();
  }

  /** The cluster node that a call goes to, as far as is known. */
  nodeOf(call: LinkCall): string | undefined {
    return nodeFor(call, call.client);
  }

  /**
   * A new unconnected client, good for one connection; in a cluster for the node that has this key. Undefined if the node is
   * not known.
   */
  clientFor(key: string): Redis | undefined {
    if (!this.#source.cluster) return this.#source.open(() => null) as Redis;
    const place = this.placeOf(key);
    const nodes = (this.#client as Cluster | undefined)?.nodes('master') ?? [];
    const node = nodes.find(({ options: { host, port } }) => `${host}:${port}` === place);
    return node?.duplicate({ lazyConnect: true, retryStrategy: () => null });
  }

  /** The cluster node that has this key, as far as is known. */
  placeOf(key: string): string {
    return (this.#client && nodeFor(new Command('get', [key]), this.#client)) ?? '';
  }

  /** Gives up a client with all its calls. Does nothing if it was replaced already. */
  replace(client: Client): void {
    if (this.#client !== client) return;
    // A host that drops packets gives no error, and the connection would be reported as closed.
    if (!client.isCluster && client.status === 'connecting') this.#failure ??= UNCONNECTED;
    this.#client = undefined;
    this.#end(client);
  }

  /** A link to the same server, which shares nothing with this one. */
  another(): RedisLink {
    return new RedisLink(this.#source);
  }

  close(): void {
    this.isClosed = true;
    if (this.#client !== undefined) this.replace(this.#client);
  }

  #opened(): Client {
    const client = this.#source.open((reason) => this.#retry(client, reason));
    this.#client = client;
    // The last client's failure is shown until this client is ready; a refusal may have been fixed meanwhile.
    if (this.refused) {
      this.#remark = this.#failure;
      this.#failure = undefined;
    }
    const remark = (error: Error): void => {
      if (!isClosed(error)) this.#remark = error;
    };
    client.on('node error', remark).on('sentinelError', remark);
    client.on('error', (error: Error) => {
      this.#failure = isSummary(error) ? (this.#remark ?? UNREACHED) : error;
      // ioredis would go on in database 0, among other people's jobs. End the socket before it sends the waiting commands.
      if (isRefusedSelect(error)) client.disconnect();
    });
    const unrefIdle = (): void => {
      if (this.#calls.length === 0) holdSockets(client, false);
    };
    client.on('+node', (node: Redis) => {
      this.#nodes.set(node, this.#sent);
      node.on('connect', unrefIdle).on('close', () => this.disconnected());
      // A cluster does not say why none of its nodes answers; a node does.
      if (this.#attempts > 0) node.connect().catch(() => undefined);
    });
    client.on('connect', () => {
      unrefIdle();
      if (!client.isCluster) void this.#askIfLoading(client as Redis);
    });
    client.on('ready', () => {
      this.#failure = undefined;
      for (const call of this.#calls) if (call.client === client) call.sent = true;
    });
    // Whoever waits sends the call again, knowing that it may be carried out twice. Commands not yet sent will still be
    // sent.
    client.on('close', () => {
      this.disconnected();
      this.#lose(client, ({ sent }) => sent);
    });
    return client;
  }

  // After a failover the old master refuses like this; the next connection finds the new master. Calls sent with this one
  // get their own answers in this turn, and must not be lost with the connection. Those that are lost all the same have the
  // same reason.
  #retire(client: Client, refusal: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#remark = refusal;
    void endOfTurn().then(() => this.#end(client));
  }

  #end(client: Client): void {
    this.#lose(client, () => true);
    client.disconnect();
  }

  // A client waits silently until the server has loaded its data. Meanwhile the server answers only INFO.
  async #askIfLoading(client: Redis): Promise<void> {
    const info = await client.info('persistence').catch(() => '');
    if (/^loading:1/m.test(info) && this.#client === client) this.#failure = loadingError();
  }

  #lose(client: Client, which: (call: LinkCall) => boolean): void {
    const lost = this.#calls.filter((call) => call.client === client && which(call));
    this.#calls = this.#calls.filter((call) => !lost.includes(call));
    for (const call of lost) {
      call.lose(new Error('the connection ended before an answer came'));
    }
  }

  #retry(client: Client, reason: Error | undefined): number | null {
    if (reason !== undefined && !isClosed(reason)) this.#failure = reason;
    if (this.refused || this.#client !== client || this.#calls.length === 0) return null;
    this.#attempts += 1;
    return pauseAfter(this.#attempts - 1, BACKOFF);
  }
}

/** Undefined if this is no cluster, or the node is not known yet. */
function nodeFor(command: Command, client: Client): string | undefined {
  return client.isCluster ? (client as Cluster).slots[command.getSlot()]?.[0] : undefined;
}

const UNCONNECTED = new Error('no connection came about');

const UNREACHED = new Error('none of its nodes takes a connection');

/** ioredis says this whatever happened to the connection. */
function isClosed({ message }: Error): boolean {
  return message === 'Connection is closed.';
}

/** It says only that all have failed; one of them has said why. */
function isSummary({ message }: Error): boolean {
  return /^(Failed to refresh slots cache|All sentinels are unreachable)/.test(message);
}

/** Sets whether the sockets keep the process alive. Called twice for each call. */
function holdSockets(client: Client, held: boolean): void {
  for (const { stream } of client.isCluster ? (client as Cluster).nodes() : [client as Redis]) {
    // There is no stream before the first attempt to connect.
    if (held) (stream as Socket | undefined)?.ref();
    else (stream as Socket | undefined)?.unref();
  }
}

/**
 * A call on a link: a command that serialises itself in one pass, and whose reply is bytes.
 *
 * ioredis measures each argument three times and joins the pieces one by one: for a script with many keys and texts, that
 * took a tenth of a worker's time.
 */
export class LinkCall extends Command {
  /** Settles with the answer, or when the connection it was sent on ends. Never, if nothing is answered. */
  readonly reply: Promise<unknown>;
  readonly head: CallHead | undefined;
  readonly client: Client;
  /** Its number among all calls of the link. */
  readonly number: number;
  /** How many calls had been answered when it was sent. */
  readonly answers: number;
  /** Whether the server may have seen the call. */
  sent: boolean;
  /** Rejects `reply`. */
  declare readonly lose: (error: Error) => void;
  /** Called before `reply` resolves, and after it rejects. */
  readonly ended: (call: LinkCall) => void;
  /** Ends the wait for its answer; cancelled when `reply` settles. */
  timer: Timer | undefined;

  constructor(
    name: string,
    args: readonly Argument[],
    head: CallHead | undefined,
    client: Client,
    number: number,
    answers: number,
    ended: (call: LinkCall) => void,
  ) {
    // ioredis would copy and inspect arguments given to its constructor.
    super(name, [], { replyEncoding: null });
    this.args = args as Argument[];
    this.reply = this.promise;
    this.head = head;
    this.client = client;
    this.sent = client.status === 'ready';
    this.number = number;
    this.answers = answers;
    this.ended = ended;
    this.timer = undefined;
  }

  override toWritable(): Buffer {
    const { name, head } = this;
    const args = this.args as readonly Argument[];
    // In ASCII every character is one byte, so all arguments can be joined first and measured once.
    let joined = joinedText(name, args, head, wasAscii);
    if (wasAscii && !joined.isAscii) joined = joinedText(name, args, head, false);
    const { pieces, size, isAscii } = joined;
    wasAscii = isAscii;
    const bytes = Buffer.allocUnsafe(size);
    let at = 0;
    for (const piece of pieces) {
      at += typeof piece === 'string' ? bytes.write(piece, at, isAscii ? 'latin1' : 'utf8') : piece.copy(bytes, at);
    }
    return bytes;
  }
}

type Settling = { -readonly [Key in 'promise' | 'resolve' | 'reject' | 'lose' | 'ended']: LinkCall[Key] } & {
  transformReply(reply: unknown): unknown;
};

/**
 * Replaces ioredis' own method, which assigns closures that hold the command. V8 allocates a function written where it is
 * assigned to a property in the old generation: each kept its command alive there, with all texts of the call, until a full
 * collection.
 */
Object.defineProperty(LinkCall.prototype, 'initPromise', {
  value(this: Settling): void {
    this.promise = new Promise((fulfil, reject) => {
      const resolve = (reply: unknown): void => {
        this.ended(this as unknown as LinkCall);
        fulfil(this.transformReply(reply));
      };
      this.resolve = resolve;
      // A cluster replaces `reject`, to send the call again.
      this.reject = this.lose = reject;
    });
  },
});

/** Whether the last call was pure ASCII. The next one usually is too. */
let wasAscii = true;

interface Joined {
  /** The call in full. Neighbouring texts are one piece. */
  readonly pieces: readonly (string | Buffer)[];
  /** In bytes. */
  readonly size: number;
  readonly isAscii: boolean;
}

/** @param isAscii whether each character of the texts may be taken for a byte */
function joinedText(name: string, args: readonly Argument[], head: CallHead | undefined, isAscii: boolean): Joined {
  const pieces: (string | Buffer)[] = [];
  let text = `*${args.length + 1}\r\n${head?.text ?? `$${name.length}\r\n${name}\r\n`}`;
  for (let at = head?.count ?? 0; at < args.length; at += 1) {
    const arg = args[at]!;
    if (typeof arg === 'object') {
      pieces.push(`${text}$${arg.length}\r\n`, arg);
      text = '\r\n';
    } else {
      const word = String(arg);
      text += `$${isAscii ? word.length : Buffer.byteLength(word)}\r\n${word}\r\n`;
    }
  }
  pieces.push(text);
  let [size, characters] = [0, 0];
  for (const piece of pieces) {
    size += Buffer.byteLength(piece);
    characters += piece.length;
  }
  return { pieces, size, isAscii: size === characters };
}
