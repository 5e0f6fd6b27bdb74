import { answerOneJob } from '../ops/own-process.ts';
import { loadSkuFile, type SkuJobs } from './sku-file.ts';

answerOneJob({ read: (path) => [...loadSkuFile(path)] } satisfies SkuJobs);
