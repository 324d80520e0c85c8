-- The average closing price of a seller's last eleven auctions.
CREATE TABLE answers (
    seller BIGINT, avg_price BIGINT
) WITH (${SINK});

INSERT INTO answers
SELECT seller, AVG(price) OVER (
    PARTITION BY seller ORDER BY bid_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS avg_price
FROM (
    SELECT A.id, A.seller, B.price, B.`dateTime` AS bid_time, ROW_NUMBER() OVER (
        PARTITION BY A.id, A.seller ORDER BY B.price DESC, B.`dateTime` ASC) AS rownum
    FROM auction A, bid B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
)
WHERE rownum = 1;
