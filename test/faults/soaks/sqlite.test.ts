import { testSoaksOn } from './short-forms';

testSoaksOn('sqlite');
