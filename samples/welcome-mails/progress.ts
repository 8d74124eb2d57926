/** Shows the progress of the work: a bar on a terminal, else a line now and then. */
const WIDTH = 30;
/** Without a terminal, print a line each time this many percent are done. */
const STEP = 25;

export class Progress {
  #done = 0;
  #lastStep = 0;
  readonly #total: number;
  readonly #stream: NodeJS.WriteStream;

  constructor(total: number, stream: NodeJS.WriteStream = process.stdout) {
    this.#total = total;
    this.#stream = stream;
  }

  advance(jobs: number): void {
    this.#done += jobs;
    if (this.#stream.isTTY) this.#draw();
    else this.#printSteps();
  }

  /** Ends the line of the bar. */
  close(): void {
    if (this.#stream.isTTY) this.#stream.write('\n');
  }

  #draw(): void {
    const filled = Math.round((this.#done / this.#total) * WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    this.#stream.write(`\r${bar} ${this.#done} of ${this.#total} jobs done`);
  }

  #printSteps(): void {
    const step = Math.floor((this.#done / this.#total) * (100 / STEP));
    if (step === this.#lastStep) return;
    this.#lastStep = step;
    this.#stream.write(`${this.#done} of ${this.#total} jobs done\n`);
  }
}
