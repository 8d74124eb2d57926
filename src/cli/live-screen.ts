/** A screen that a command redraws until somebody leaves it: all of the terminal, which is restored at the end. */
import { stripVTControlCharacters } from 'node:util';
import { Alarm, type Milliseconds } from '../base/clock';
import { errorText } from './errors';
import { cut, visibleWidth } from './output';
import type { Surroundings } from './session';

/** What is on the screen. */
export interface Scene {
  /** Reads what is shown. After an error, which is shown too, it is called again as after any other look. */
  look(): Promise<void>;
  /** What to draw, in as many lines of this width; a line may have colours. */
  body(room: number, columns: number): readonly string[];
  /** The last lines: what has just happened, and the keys. */
  readonly remark: string;
  readonly keys: string;
  /** Any key but those that leave. */
  press?(key: string): void;
}

/** Between two looks. */
const INTERVAL: Milliseconds = 2000;

/** A terminal that somebody has forgotten costs its store at most a tenth of the time. */
const SHARE = 10;

/** Escape sequences, such as those of the arrow keys, and single characters. */
// oxlint-disable-next-line no-control-regex
const KEYS = /\u001B(?:\[[\d;]*[A-Za-z~]|O[A-Z])|[^]/gu;

/** The last two are Ctrl-C and Ctrl-D. */
const QUIT = ['q', 'Q', '\u0003', '\u0004'];

const ENTER = '\u001B[?1049h\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const REST_OF_LINE = '\u001B[K';
const REST_OF_SCREEN = '\u001B[J';

export class LiveScreen {
  readonly #surroundings: Surroundings;
  readonly #scene: Scene;
  /** Why the last look failed. */
  #trouble: string | undefined;
  #isOver = false;
  /** Rings when somebody asks for a look, perhaps while another one is under way. */
  readonly #alarm = new Alarm();
  #leave: () => void = () => undefined;
  readonly #over = new Promise<void>((resolve) => (this.#leave = resolve));

  constructor(surroundings: Surroundings, scene: Scene) {
    this.#surroundings = surroundings;
    this.#scene = scene;
  }

  /** Ends when somebody leaves, or with a signal. */
  async run(onKeys: NonNullable<Surroundings['onKeys']>): Promise<void> {
    const { stdout, clock, onStopSignal, onExit } = this.#surroundings;
    stdout.write(ENTER);
    const undo = [
      onKeys((keys) => (keys.match(KEYS) ?? []).forEach((key) => this.#press(key))),
      onStopSignal(() => this.#quit()),
      // However the process ends, it must leave a usable terminal.
      onExit(() => stdout.write(LEAVE)),
    ];
    try {
      this.#draw();
      while (!this.#isOver) {
        const since = clock.monotonic();
        await this.#orQuit(this.#look());
        const took = clock.monotonic() - since;
        await this.#orQuit(this.#alarm.within(clock, Math.max(INTERVAL, took * SHARE)));
      }
    } finally {
      for (const stop of undo) stop();
      stdout.write(LEAVE);
    }
  }

  /** Looks again at once: something has changed. */
  wake(): void {
    this.#alarm.ring();
  }

  async #look(): Promise<void> {
    this.#alarm.rang();
    try {
      await this.#scene.look();
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = errorText(error);
    }
    if (!this.#isOver) this.#draw();
  }

  /** An unreachable store must not keep anybody from leaving. */
  #orQuit(step: Promise<void>): Promise<void> {
    return Promise.race([step, this.#over]);
  }

  #quit(): void {
    this.#isOver = true;
    this.#alarm.ring();
    this.#leave();
  }

  #press(key: string): void {
    if (QUIT.includes(key)) return this.#quit();
    this.#scene.press?.(key);
    this.#draw();
  }

  #draw(): void {
    const { stdout } = this.#surroundings;
    // A terminal may not report its size, and would begin a new line at the last column.
    const { columns = 80, rows = 24 } = stdout;
    const [room, width] = [Math.max(rows - 3, 1), columns - 1];
    const body = this.#scene.body(room, width);
    const filled = [...body, ...Array.from({ length: Math.max(room - body.length, 0) }, () => '')];
    const [remark = ''] = (this.#trouble ?? this.#scene.remark).split('\n');
    const lines = [...filled.slice(0, room), '', remark, this.#scene.keys].slice(0, rows);
    stdout.write(HOME + lines.map((line) => fitting(line, width) + REST_OF_LINE).join('\r\n') + REST_OF_SCREEN);
  }
}

/** A line that is too long loses its colours with its end. */
function fitting(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  return visibleWidth(plain) <= width ? line : cut(plain, width);
}
