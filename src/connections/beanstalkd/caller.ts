/** Opens connections to the server, and holds the one on which jobs are pushed and questions are asked. */
import type { Milliseconds } from '../../base/clock';
import { withConsequence } from '../../base/define-error';
import { QueueUnavailableError } from '../errors';
import { isOlder } from '../kit/older-version';
import { isUnknownHost } from '../kit/unknown-host';
import { BeanstalkdVersionError } from './errors';
import { type Command, Link, LinkEnded, type LinkSettings, Overdue, type ServerFacts } from './link';
import type { Reply } from './replies';
import { isAway, unavailable } from './trouble';

export interface Question {
  /** What a failure means to the caller, as a clause: `2 jobs were not queued`. */
  readonly consequence: string;
  /** It may be carried out twice: it is asked again when its answer was lost. Default: false. */
  readonly again?: boolean | undefined;
}

const FIRST_PAUSE: Milliseconds = 50;
const LONGEST_PAUSE: Milliseconds = 1000;

/** The oldest that this driver was made for. */
const NEEDED_VERSION = '1.10';

/** A connection that has died unnoticed is given up early enough for another one to answer within the deadline. */
const ATTEMPTS_IN_SILENCE = 2;

export class Caller {
  readonly settings: LinkSettings;
  readonly #heard: (facts: ServerFacts) => void;
  #link: Promise<Link> | undefined;
  #closed = false;

  /** @param heard told what the server says of itself, for each connection that is made to it */
  constructor(settings: LinkSettings, heard: (facts: ServerFacts) => void) {
    this.settings = settings;
    this.#heard = heard;
  }

  get deadline(): Milliseconds {
    return this.settings.deadline * 1000;
  }

  /** A connection of one's own, after as many attempts as the deadline allows. @throws QueueUnavailableError */
  async open(consequence: string, until = this.settings.clock.monotonic() + this.deadline): Promise<Link> {
    const { clock } = this.settings;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        if (this.#closed) throw new LinkEnded(new Error('the connection was closed'), false);
        const link = await Link.open(this.settings, until - clock.monotonic());
        this.#refuseOld(link, consequence);
        this.#heard(link.facts);
        return link;
      } catch (error) {
        if (error instanceof BeanstalkdVersionError) throw error;
        const late = clock.monotonic() + pause + FIRST_PAUSE >= until;
        const hopeless = this.#closed || isUnknownHost(error);
        if (late || hopeless) throw unavailable(this.settings, error, { consequence, late: late && !hopeless });
      }
      await new Promise<void>((resolve) => void clock.after(pause, resolve, true));
    }
  }

  #refuseOld(link: Link, consequence: string): void {
    const { name: connection, address } = this.settings;
    const found = link.facts.get('version') ?? '';
    if (!isOlder(found, NEEDED_VERSION)) return;
    link.close();
    throw new BeanstalkdVersionError({ connection, address, found, needed: NEEDED_VERSION, consequence });
  }

  /**
   * Sends commands, connecting where there is no connection; gives a reply for each.
   *
   * @param commands what to send, on the link that they are sent on
   * @throws QueueUnavailableError
   */
  async call(
    commands: (link: Link) => readonly Command[],
    { consequence, again = false }: Question,
  ): Promise<readonly Reply[]> {
    const { clock } = this.settings;
    const until = clock.monotonic() + this.deadline;
    for (;;) {
      const link = await this.#connected(consequence, until);
      const left = until - clock.monotonic();
      try {
        return await link.call(commands(link), again ? Math.min(left, this.deadline / ATTEMPTS_IN_SILENCE) : left);
      } catch (error) {
        if (!isAway(error)) throw error;
        link.close();
        const sent = error instanceof Overdue || (error as LinkEnded).sent;
        if ((sent && !again) || clock.monotonic() + FIRST_PAUSE >= until) {
          throw unavailable(this.settings, error, { consequence, uncertain: sent && !again });
        }
      }
    }
  }

  /** What the server said of itself when it was last connected to. @throws QueueUnavailableError */
  async facts(consequence: string): Promise<ServerFacts> {
    return (await this.#connected(consequence, this.settings.clock.monotonic() + this.deadline)).facts;
  }

  close(): void {
    this.#closed = true;
    this.#link?.then(
      (link) => link.close(),
      () => undefined,
    );
  }

  async #connected(consequence: string, until: Milliseconds): Promise<Link> {
    for (;;) {
      // Shared by all who ask meanwhile.
      const opening = (this.#link ??= this.open(consequence, until));
      try {
        const link = await opening;
        if (link.isOpen) return link;
      } catch (error) {
        if (this.#link === opening) this.#link = undefined;
        const isTold = error instanceof QueueUnavailableError || error instanceof BeanstalkdVersionError;
        throw isTold ? withConsequence(error, consequence) : error;
      }
      if (this.#link === opening) this.#link = undefined;
    }
  }
}
