import { Job } from 'onqueue';

@Job({ name: 'evaluated.welcome' })
export class Welcome {}
