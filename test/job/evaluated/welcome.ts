import { Job } from 'onqueue';

@Job({ name: 'evaluated.welcome', aliases: ['evaluated.hello'] })
export class Welcome {
  constructor(readonly to: string) {}
}
