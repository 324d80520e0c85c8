-- Bids enriched from a side input.
CREATE TABLE answers (
    auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), `value` STRING
) WITH (${SINK});

INSERT INTO answers
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM bid AS B JOIN side_input AS S ON MOD(B.auction, 10000) = S.key;
