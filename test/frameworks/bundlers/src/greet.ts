import { Inject, Job } from 'onqueue';

export class Greeter {
  greet(name: string) {
    return `hello ${name}`;
  }
}

@Job({ name: 'Greet', queue: 'greetings' })
export class Greet extends Job {
  constructor(readonly name: string) {
    super();
  }

  async handle(@Inject(Greeter) greeter: Greeter) {
    console.log(greeter.greet(this.name));
  }
}
