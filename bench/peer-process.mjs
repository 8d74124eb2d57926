/** A peer in a process of its own, for one scenario: heaps and compiled code do not mix, and stay warm over the rounds. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('peer-host.mjs', import.meta.url));

/** Far above what any step takes; a peer that hangs must not hang the bench. */
const DEADLINE_MS = 120_000;

export class PeerProcess {
  name;
  #server;
  #child;

  constructor(name, scenario, server) {
    this.name = name;
    this.#server = server;
    this.#child = fork(program, [name, scenario.name, JSON.stringify(server.address)], {
      execArgv: ['--expose-gc'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
  }

  /** On an empty store. Gives jobs per second, and microseconds of CPU per job: the server's and the process's own. */
  async run(jobs) {
    await this.#server.clear();
    await this.#ask('arrange', jobs);
    const before = await this.#server.cpu();
    const { milliseconds, cpu } = await this.#ask('act', jobs);
    const after = await this.#server.cpu();
    await this.#ask('end', jobs);
    return { rate: (jobs / milliseconds) * 1_000, redisCpu: (after - before) / jobs, ownCpu: cpu / jobs };
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
      const fail = (problem) => settle(() => reject(new Error(`${this.name}, ${step}: ${problem}`)));
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
