-- The end of the quiet time of a doubt on the machine's own clock, which no setting of the time can shorten, and the
-- run of the machine in which it means something.
ALTER TABLE entries ADD COLUMN settlement_delay_end_mono REAL;
ALTER TABLE entries ADD COLUMN settlement_delay_boot_id TEXT;
