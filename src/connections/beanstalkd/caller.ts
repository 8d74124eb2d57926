/** Opens connections to the server, and keeps the one for pushes and questions. */
import { Silence, within, type Milliseconds } from '../../base/clock';
import {
  isUnknownHost,
  StoreCaller,
  type CallerSettings,
  type CallFailure,
  type Purpose,
  type Verdict,
} from '../kit/caller';
import { isOlder } from '../kit/requirements';
import { beanstalkdReply, beanstalkdVersion } from './errors';
import { Link, LinkEnded, type Command, type Place, type Fields, type Reply } from './link';

/** The oldest version that this driver supports. */
const NEEDED_VERSION = '1.10';

const REMEDIES: Readonly<Record<string, string>> = {
  DRAINING: 'It was told to take no more jobs (SIGUSR1); restart it, or send them to another one.',
  OUT_OF_MEMORY: 'Give it more memory, or make room.',
  BURIED: 'It has no memory left: give it more, or make room.',
};

class OldServer extends Error {}

export class BeanstalkdCaller extends StoreCaller {
  protected readonly store = 'beanstalkd';
  readonly #place: Place;
  readonly #heard: (facts: Fields) => void;
  /** Forgotten when it ends or cannot be opened: then another one is opened. */
  #link: Promise<Link> | undefined;
  #closed = false;

  /** @param heard called with the server's facts, for each connection that is made to it */
  constructor(settings: CallerSettings, place: Place, heard: (facts: Fields) => void) {
    super(settings);
    this.#place = place;
    this.#heard = heard;
  }

  get deadline(): Milliseconds {
    return this.settings.deadline * 1000;
  }

  /** Opens a new connection. @throws QueueUnavailableError, E_BEANSTALKD_VERSION */
  open(consequence: string): Promise<Link> {
    return this.insist({ consequence }, (milliseconds) => this.#open(milliseconds));
  }

  /**
   * Sends commands, connecting if necessary; returns a reply for each.
   *
   * @param commands returns the commands for the link that they are sent on
   * @throws QueueUnavailableError, E_BEANSTALKD_VERSION
   */
  call(commands: (link: Link) => readonly Command[], purpose: Purpose): Promise<readonly Reply[]> {
    const { clock } = this.settings;
    return this.insist(purpose, async (milliseconds) => {
      const until = clock.monotonic() + milliseconds;
      const link = await this.#connected(milliseconds);
      try {
        return await link.call(commands(link), until - clock.monotonic());
      } catch (error) {
        if (isAway(error)) link.close();
        throw error;
      }
    });
  }

  /** The reply to one question. @throws as `call` */
  async ask(command: string, consequence: string): Promise<Reply> {
    return (await this.call(() => [command], { consequence, repeatable: true }))[0]!;
  }

  /** The server's facts from when we last connected. @throws QueueUnavailableError, E_BEANSTALKD_VERSION */
  async facts(consequence: string): Promise<Fields> {
    return (await this.insist({ consequence }, (milliseconds) => this.#connected(milliseconds))).facts;
  }

  refusal(command: string, { word, args }: Reply, consequence: string, uncertain: boolean): Error {
    const { name: connection, address } = this.settings;
    const reply = [word, ...args].join(' ');
    const remedy = REMEDIES[word];
    if (remedy === undefined) return beanstalkdReply({ connection, address, command, reply, consequence });
    return this.unavailable({ consequence, uncertain, refused: true, reason: reply, remedy });
  }

  /** The error for a link that ended or was silent; other errors are returned unchanged. */
  explainLink(error: unknown, consequence: string, uncertain = false): unknown {
    return isAway(error) ? this.unavailable({ consequence, error, uncertain }) : error;
  }

  close(): void {
    this.#closed = true;
    this.#link?.then(
      (link) => link.close(),
      () => undefined,
    );
  }

  protected verdictOn(error: unknown): Verdict {
    const cause = causeOf(error);
    if (cause instanceof OldServer || isUnknownHost(cause)) return 'final';
    if (error instanceof LinkEnded && !error.sent) return this.#closed ? 'final' : 'passing';
    return isAway(error) ? 'lost' : 'final';
  }

  protected explain({ error, late, uncertain }: CallFailure, { consequence, repeatable = false }: Purpose): Error {
    const cause = causeOf(error);
    const { name: connection, address } = this.settings;
    if (cause instanceof OldServer) {
      const versions = { found: cause.message, needed: NEEDED_VERSION };
      return beanstalkdVersion({ connection, address, ...versions, consequence });
    }
    if (!isAway(error)) return error as Error;
    return this.unavailable({ consequence, error: cause, late, uncertain: uncertain && !repeatable });
  }

  async #open(milliseconds: Milliseconds): Promise<Link> {
    if (this.#closed) throw new LinkEnded(new Error('the connection was closed'), false);
    const link = await Link.open(this.#place, this.settings.clock, milliseconds);
    const version = link.facts.get('version') ?? '';
    if (isOlder(version, NEEDED_VERSION)) {
      link.close();
      throw new LinkEnded(new OldServer(version), false);
    }
    this.#heard(link.facts);
    return link;
  }

  /** Shared by all callers, as long as it lives. @throws LinkEnded */
  async #connected(milliseconds: Milliseconds): Promise<Link> {
    if (this.#link === undefined) {
      const forget = (): void => (this.#link = undefined);
      this.#link = this.#open(milliseconds);
      this.#link.then(({ ended }) => ended).then(forget, forget);
    }
    try {
      return await within(this.settings.clock, milliseconds, this.#link);
    } catch (error) {
      throw error instanceof Silence ? new LinkEnded(error, false) : error;
    }
  }
}

/** Why a call was not sent. */
const causeOf = (error: unknown): unknown => (error instanceof LinkEnded && !error.sent ? error.cause : error);

/** Whether the link is useless from now on. */
const isAway = (error: unknown): boolean => error instanceof LinkEnded || error instanceof Silence;
