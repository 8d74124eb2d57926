/** A peer in a process of its own, for one scenario: heaps and compiled code do not mix, and stay warm over the rounds. */
import { fork } from 'node:child_process';
import { mkdtempSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('peer-host.mjs', import.meta.url));

/** Far above what any step takes; a peer that hangs must not hang the bench. */
const DEADLINE_MS = 240_000;

const logFile = () => openSync(join(mkdtempSync(join(tmpdir(), 'onqueue-bench-')), 'log'), 'a');

export class PeerProcess {
  #name;
  #scenario;
  #store;
  #child;

  constructor({ name, peer, settings }, scenario, store) {
    this.#name = name;
    this.#scenario = scenario;
    this.#store = store;
    const participant = JSON.stringify({ peer, settings, address: store.address });
    this.#child = fork(program, [scenario.name, participant], {
      execArgv: ['--expose-gc'],
      // What a peer logs goes to a file, as in production: a terminal, or a reader beside it, would be measured as well.
      stdio: ['ignore', 'inherit', settings.logs ? logFile() : 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
  }

  /** On an empty store. Gives the figures of the scenario's kind. */
  async run(jobs) {
    await this.#store.clear();
    await this.#ask('arrange', jobs);
    const done = await this.#store.watch();
    const own = await this.#ask('act', jobs);
    const store = await done();
    await this.#ask('end', jobs);
    return this.#scenario.figures.of({ jobs, own, store });
  }

  end() {
    this.#child.kill();
  }

  #ask(step, jobs) {
    return new Promise((resolve, reject) => {
      const child = this.#child;
      const settle = (action) => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
        action();
      };
      const fail = (problem) => settle(() => reject(new Error(`${this.#name}, ${step}: ${problem}`)));
      const onMessage = ({ answer, problem }) =>
        problem === undefined ? settle(() => resolve(answer)) : fail(problem);
      const onExit = (code, signal) => fail(`the process ended with ${signal ?? code}`);
      const timer = setTimeout(() => fail(`no answer after ${DEADLINE_MS / 1_000} s`), DEADLINE_MS);
      child.on('message', onMessage).on('exit', onExit);
      child.send({ step, jobs }, (error) => {
        if (error) fail(error.message);
      });
    });
  }
}
