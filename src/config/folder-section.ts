import { z } from 'zod';
import { currencySchema, sourceSchema } from '../core/order/order-request.ts';
import { folderPath, live } from '../core/settings/schema-values.ts';
import { csvColumns } from '../intake/orders/settings.ts';
import type { SectionCheck } from './section-check.ts';

/** The section of the watched folder. */
export const folderIntake = z
  .strictObject({
    inbox: folderPath(
      'Where order files arrive. Default: `<data_dir>/inbox`. While they are read, files are in `work` beside it, on the same mount.',
    ),
    archive: folderPath('Where files go once their lines are in the outbox. Default: `<data_dir>/archive`.'),
    rejected: folderPath(
      'Where rejected files go, each with a `.error.json` that says why. Default: `<data_dir>/rejected`.',
    ),
    ready: z
      .enum(['stable', 'done_file'])
      .default('stable')
      .describe(
        '`stable`: a file is read once it has stopped changing. `done_file`: it also needs `<name>.done` beside it.',
      ),
    source: sourceSchema
      .default('folder')
      .describe('The source of orders in files that name none. Part of the identity of each line.'),
    currency: currencySchema
      .optional()
      .describe('The balance to charge for orders in files that name none. Unset: each must name one.')
      .meta(live),
    sku_map: folderPath(
      'The SKU map (YAML or CSV) of the column `sku` in CSV files. Unset: that column is carried through.',
    ).meta(live),
    columns: z
      .partialRecord(z.enum(csvColumns), z.string().min(1).max(200).nullable())
      .default({})
      .describe(
        'CSV columns with another name: our column, then its name in the file, or null if the file does not have it.',
      )
      .meta(live),
  })
  .prefault({})
  .describe('The watched folder.');

export function checkFolder(check: SectionCheck): void {
  const folder = ['intake', 'folder'];
  const column = [...folder, 'columns', 'sku'];
  if (typeof check.at(...column) !== 'string' || check.at(...folder, 'sku_map') !== undefined) return;
  check.report(column, 'needs `intake.folder.sku_map`, which says what each SKU stands for');
}
