-- The ten highest bids of each auction.
CREATE TABLE answers (
    auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
    `dateTime` TIMESTAMP(3), extra STRING, rank_number BIGINT
) WITH (${SINK});

INSERT INTO answers
SELECT auction, bidder, price, channel, url, `dateTime`, extra, rank_number
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number
    FROM bid
)
WHERE rank_number <= 10;
