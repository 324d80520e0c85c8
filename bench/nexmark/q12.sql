-- Bids per bidder and ten seconds of processing time.
CREATE VIEW bid_by_clock AS SELECT *, PROCTIME() AS p_time FROM bid;

CREATE TABLE answers (
    bidder BIGINT, bid_count BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)
) WITH (${SINK});

INSERT INTO answers
SELECT bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE(TABLE bid_by_clock, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
